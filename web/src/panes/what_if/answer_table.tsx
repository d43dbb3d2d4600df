import type { ComponentChildren } from "preact";
import type { CurrentPolicy, Judged, ReplayedClass, WhatIfAnswer } from "../../api/deciding_types";
import { duration, percent } from "../../lib/format";
import { useAnswer } from "../../lib/polling";
import { changeText } from "../../lib/replays";
import { ClassMark } from "../../ui/marks";
import { Adopt } from "./adopt";
import type { Question } from "./question";

/** What was recorded, its replay, and the candidates from the best on. */
export function AnswerTable({ question, answer }: { question: Question; answer: WhatIfAnswer }) {
  const current = useAnswer<CurrentPolicy>("/v1/policy", 5000);
  const classes = Object.keys(answer.recorded.classes);
  const targets = answer.recorded.targets !== undefined;
  return (
    <section
      class="table-box"
      aria-label="Response times of all policies"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
    >
      <table class="what-if-table">
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              Policy
            </th>
            {classes.map((name) => (
              <th key={name} scope="colgroup" colSpan={3} class="group-head">
                <ClassMark name={name} />
              </th>
            ))}
            {targets && (
              <th scope="col" rowSpan={2} class="right">
                Targets met
              </th>
            )}
            <th scope="col" rowSpan={2}>
              <span class="hidden-text">Adopt</span>
            </th>
          </tr>
          <tr>
            {classes.map((name) => [
              <th key={`${name} mean`} scope="col" class="right">
                mean
              </th>,
              <th key={`${name} p95`} scope="col" class="right">
                p95
              </th>,
              <th key={`${name} change`} scope="col" class="right" title="Of the mean, against the replayed policy">
                change
              </th>,
            ])}
          </tr>
        </thead>
        <tbody>
          <Row label={`recorded: ${answer.recorded.policy}`} of={answer.recorded} classes={classes} targets={targets} />
          <Row
            label="replayed"
            of={answer.replayed}
            classes={classes}
            targets={targets}
            last={(name) => <span class="quiet-text">off {percent(answer.error[name])}</span>}
          />
          {answer.ranking.map((policy, rank) => (
            <Row
              key={policy}
              label={`${rank + 1}. ${policy}`}
              of={answer.policies[policy]!}
              classes={classes}
              targets={targets}
              last={(_, told) => <ChangeMark of={told} />}
              action={
                <Adopt
                  question={question}
                  policy={policy}
                  answer={answer}
                  current={current.data}
                  reload={current.reload}
                />
              }
            />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  label: string;
  of: Judged;
  classes: readonly string[];
  targets: boolean;
  last?: (name: string, told: ReplayedClass | undefined) => ComponentChildren;
  action?: ComponentChildren;
}

function Row({ label, of, classes, targets, last, action }: RowProps) {
  return (
    <tr>
      <th scope="row">{label}</th>
      {classes.map((name) => {
        const told = of.classes[name];
        return [
          <td key={`${name} mean`} class="right first">
            {duration(told?.response_time.mean)}
          </td>,
          <td key={`${name} p95`} class="right">
            {duration(told?.response_time.p95)}
          </td>,
          <td key={`${name} change`} class="right">
            {last?.(name, told)}
          </td>,
        ];
      })}
      {targets && <td class="right">{of.targets ? `${of.targets.met} of ${of.targets.of}` : "–"}</td>}
      <td>{action}</td>
    </tr>
  );
}

/** A change, with whether it says anything. */
function ChangeMark({ of }: { of: ReplayedClass | undefined }) {
  if (of?.change === null || of?.change === undefined) return <span class="quiet-text">no results</span>;
  if (of.within_error !== false) {
    return (
      <span class="quiet-text" title="within the error of the replay: it says nothing">
        ≈ {changeText(of.change)}
      </span>
    );
  }
  const gains = of.change < 0;
  return (
    <span class={gains ? "good-text" : "bad-text"}>
      <span aria-hidden="true">{gains ? "▲ " : "▼ "}</span>
      <span class="hidden-text">{gains ? "gains " : "loses "}</span>
      {changeText(of.change)}
    </span>
  );
}
