import type { WhatIfAnswer } from "../../api/deciding_types";
import { clock, duration, percent } from "../../lib/format";
import { changeText } from "../../lib/replays";
import { choose, place } from "../../lib/router";
import { Choice } from "../../ui/choice";
import { ClassMark } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { AnswerTable } from "./answer_table";
import { Picture } from "./picture";
import { differences, type Question } from "./question";

interface AnswerProps {
  question: Question;
  answer: WhatIfAnswer;
  took: number;
  at: number;
}

/** What would have been: how far it can be believed, a picture, a table, and what could not be answered. */
export function Answer({ question, answer, took, at }: AnswerProps) {
  const different = differences(question);
  return (
    <>
      <Panel title="Answer" note={`asked at ${clock(at)}, took ${duration(took)}`}>
        <div class="stack">
          <Best answer={answer} different={different} />
          <Believed answer={answer} />
          {answer.added && <p>{answer.added.text}</p>}
          <Regrets answer={answer} />
          <Failed answer={answer} />
        </div>
      </Panel>
      <PicturePanel answer={answer} />
      <Panel title="In numbers" note={`response times; ranked by ${answer.by}`}>
        <AnswerTable question={question} answer={answer} />
      </Panel>
    </>
  );
}

/** The first of the ranking, in a sentence. */
function Best({ answer, different }: { answer: WhatIfAnswer; different: string[] }) {
  const best = answer.ranking[0];
  const with_ = different.length ? `With ${different.join(", ")}` : "";
  if (!best) return <p>None of the policies could be replayed.</p>;
  if (answer.ranking.length === 1) {
    return <p>{with_ ? `${with_}, under ${best}:` : `Under ${best}, compared with what was recorded:`}</p>;
  }
  return (
    <p>
      {with_ && `${with_}: `}
      {with_ ? "by" : "By"} {answer.by}, <strong>{best}</strong> is the best of {answer.ranking.length}
      {measureText(answer, best)}.
    </p>
  );
}

function measureText(answer: WhatIfAnswer, policy: string): string {
  const judged = answer.policies[policy]!;
  if (answer.by === "targets") return judged.targets ? `: ${judged.targets.met} of ${judged.targets.of} met` : "";
  const dot = answer.by.lastIndexOf(".");
  const times = dot < 0 ? judged.overall : judged.classes[answer.by.slice(0, dot)];
  const value = times?.response_time[answer.by.slice(dot + 1) as "mean" | "p50" | "p95"];
  return value === undefined || value === null ? "" : `: ${duration(value)}`;
}

/** The replay's own error, which is the first thing to look at. */
function Believed({ answer }: { answer: WhatIfAnswer }) {
  return (
    <p class="row">
      The replay of the recorded policy ({answer.recorded.policy}) is off by:
      {Object.entries(answer.error).map(([name, error]) => (
        <span key={name} class="row error-part">
          <ClassMark name={name} />
          <span class={error !== null && error > 0.25 ? "warn-text" : ""}>{percent(error)}</span>
        </span>
      ))}
      <span class="quiet-text">Changes within that, or below 5 %, say nothing; they are marked ≈.</span>
    </p>
  );
}

function Failed({ answer }: { answer: WhatIfAnswer }) {
  const failed = Object.entries(answer.failed ?? {});
  if (!failed.length) return null;
  return (
    <ul class="failed">
      {failed.map(([policy, reason]) => (
        <li key={policy} class="notice">
          <strong>{policy}</strong> could not be replayed: {reason}
        </li>
      ))}
    </ul>
  );
}

/** How far adaptive policies are from the best of their candidates. */
function Regrets({ answer }: { answer: WhatIfAnswer }) {
  const regrets = Object.entries(answer.regret ?? {});
  return (
    <>
      {regrets.map(([policy, regret]) => (
        <p key={policy}>
          <strong>{policy}</strong>
          {regret.best === null
            ? ": its candidates have no results to compare with."
            : ` is ${changeText(regret.share)} from the best of its candidates, ${regret.best}${regret.within_error ? ", which is within the error" : ""}.`}
        </p>
      ))}
    </>
  );
}

function PicturePanel({ answer }: { answer: WhatIfAnswer }) {
  const log = place.value.query.get("scale") !== "linear";
  return (
    <Panel
      title="Side by side"
      note="response times by class"
      actions={
        <Choice
          label="Scale"
          value={log ? "log" : "linear"}
          options={[
            ["log", "log"],
            ["linear", "linear"],
          ]}
          onChoose={(value) => choose({ scale: value === "log" ? null : value })}
        />
      }
    >
      <Picture answer={answer} log={log} />
    </Panel>
  );
}
