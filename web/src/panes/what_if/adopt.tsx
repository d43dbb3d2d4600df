import { patch, pathOf, put } from "../../api/client";
import type { CurrentPolicy, WhatIfAnswer } from "../../api/deciding_types";
import { duration } from "../../lib/format";
import { changeText } from "../../lib/replays";
import { status } from "../../live/connection";
import { Action } from "../../ui/action";
import type { Question } from "./question";

interface AdoptProps {
  question: Question;
  policy: string;
  answer: WhatIfAnswer;
  current: CurrentPolicy | null;
  reload: () => void;
}

/** A button that makes a candidate real: its policy, fusion and priorities; rates, workers and queries stay. */
export function Adopt({ question, policy, answer, current, reload }: AdoptProps) {
  const steps = current ? stepsOf(question, policy, current) : [];
  if (!current) return null;
  if (!steps.length) return <span class="quiet-text">in force</span>;
  const left = leftOut(question);
  return (
    <Action
      run={async () => {
        for (const step of steps) await step.run();
        reload();
      }}
      done={`Adopted: ${steps.map((step) => step.text).join("; ")}`}
      ask={{
        title: `Adopt ${policy}?`,
        text: (
          <>
            <p>This is changed at once:</p>
            <ul>
              {steps.map((step) => (
                <li key={step.text}>{step.text}</li>
              ))}
            </ul>
            <p>By the replay, mean response times would become:</p>
            <ul>
              {Object.entries(answer.policies[policy]!.classes).map(([name, told]) => (
                <li key={name}>
                  {name}: {duration(told.response_time.mean)}
                  {told.change !== undefined &&
                    told.change !== null &&
                    ` (${told.within_error === false ? "" : "≈ "}${changeText(told.change)})`}
                </li>
              ))}
            </ul>
            {left && <p>{left}</p>}
          </>
        ),
        yes: "Adopt",
      }}
    >
      Adopt
    </Action>
  );
}

interface Step {
  text: string;
  run: () => Promise<unknown>;
}

/** What has to be changed for a candidate to be real. */
function stepsOf(question: Question, policy: string, current: CurrentPolicy): Step[] {
  const classes = status.value?.classes ?? {};
  const steps: Step[] = [];
  if (policy !== current.policy) {
    const body = question.fuse ? { policy, fuse: question.fuse } : { policy };
    const with_ = question.fuse ? `, queries share jobs by ${question.fuse}` : "";
    steps.push({ text: `${policy} decides instead of ${current.policy}${with_}`, run: () => put("/v1/policy", body) });
  } else if (question.fuse && question.fuse !== current.fuse) {
    const fuse = question.fuse;
    steps.push({ text: `queries share jobs by ${fuse}`, run: () => put("/v1/fusion", { fuse }) });
  }
  for (const [name, text] of Object.entries(question.priorities)) {
    const priority = Number(text);
    if (!text.trim() || classes[name]?.priority === priority) continue;
    steps.push({
      text: `${name} gets priority ${text.trim()} instead of ${classes[name]?.priority}`,
      run: () => patch(pathOf("classes", name), { priority }),
    });
  }
  return steps;
}

/** What was asked about, but cannot be adopted. */
function leftOut({ rate, workers, sql }: Question): string {
  const left = [
    rate.trim() && "the rate of tuples",
    workers.trim() && "the number of workers",
    sql.trim() && "the added query",
  ].filter(Boolean);
  return left.length ? `Not changed by this: ${left.join(", ")}.` : "";
}
