/** What would become of the query: where it is wrong, else its columns, its plan, its group, and what it costs whom. */

import type { DryRunAnswer, PlanNode, Status } from "../../api/types";
import { duration, percent, plural, rate } from "../../lib/format";
import { status } from "../../live/connection";
import { ClassMark, QueryLink } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { ProblemBox } from "../../ui/problem_box";
import type { DryRun } from "./dry_run";
import { costWords, effectWords, streamsOf, typeWords } from "./words";

export function OutcomePanel({ run }: { run: DryRun }) {
  const note = run.asking ? "checking…" : run.refused ? "refused" : run.answer ? "accepted" : "";
  return (
    <Panel title="What would become of it" note={note} class="outcome">
      <div aria-live="polite">{run.refused && <ProblemBox problem={run.refused} />}</div>
      {!run.answer && !run.refused && (
        <p class="quiet-text">
          Nothing is started while you type: the server checks the query, and says here what would become of it.
        </p>
      )}
      {run.answer && !run.refused && <Answer answer={run.answer} weighing={run.weighing} old={run.asking} />}
    </Panel>
  );
}

function Answer({ answer, weighing, old }: { answer: DryRunAnswer; weighing: boolean; old: boolean }) {
  return (
    <div class={`stack ${old ? "old" : ""}`}>
      <section>
        <h3>Columns of its results</h3>
        <ul class="chips">
          {answer.columns.map((column) => (
            <li key={column.name}>
              <code>{column.name}</code> <span class="quiet-text">{typeWords(column.type)}</span>
            </li>
          ))}
        </ul>
      </section>
      <section>
        <h3>Plan</h3>
        <ul class="plan-outline">
          <PlanPart node={answer.plan} />
        </ul>
      </section>
      <section>
        <h3>Group</h3>
        <p>{answer.group.length ? <Group names={answer.group} /> : ownJobs(answer)}</p>
      </section>
      <section>
        <h3>Cost</h3>
        <p>{costWords(answer, rateOf(answer, status.value))}</p>
      </section>
      <section>
        <h3>Whom it would slow down</h3>
        <Slows answer={answer} weighing={weighing} />
      </section>
    </div>
  );
}

const ownJobs = (answer: DryRunAnswer): string =>
  answer.form === null
    ? "It would have Spark jobs of its own: no other query can share them."
    : `It would have Spark jobs of its own, until another query of its class has the same form (${answer.form}).`;

const FEW = 8;

function Group({ names }: { names: readonly string[] }) {
  const shown = names.slice(0, FEW);
  return (
    <>
      It would share its Spark jobs with{" "}
      {shown.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <QueryLink name={name} />
        </span>
      ))}
      {names.length > FEW && ` and ${plural(names.length - FEW, "more", "more")}`}.
    </>
  );
}

/** Rows per second of all streams that the query reads. */
function rateOf(answer: DryRunAnswer, now: Status | null): number | null {
  const rates = streamsOf(answer.plan).map((name) => now?.streams?.[name]?.rate);
  return rates.some((one) => one === undefined) ? null : rates.reduce<number>((sum, one) => sum + one!, 0);
}

function PlanPart({ node }: { node: PlanNode }) {
  const stream = node.kind === "stream";
  const incoming = stream ? status.value?.streams?.[node.text]?.rate : undefined;
  return (
    <li>
      <span class="badge">{node.kind}</span> <code>{node.text}</code>
      {incoming !== undefined && <span class="quiet-text number"> {rate(incoming)}</span>}
      {node.shared_with.length > 0 && (
        <span class="quiet-text" title={node.shared_with.join(", ")}>
          {" "}
          shared with {plural(node.shared_with.length, "query", "queries")}
        </span>
      )}
      {node.inputs.length > 0 && (
        <ul>
          {node.inputs.map((input) => (
            <PlanPart key={input.id} node={input} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Slows({ answer, weighing }: { answer: DryRunAnswer; weighing: boolean }) {
  if (!answer.slows) {
    return (
      <p class="quiet-text">
        {weighing ? "Computing it from what ran in the last minute…" : `Cannot be told: ${answer.slows_reason}.`}
      </p>
    );
  }
  const classes = Object.entries(answer.slows.classes);
  const own = Object.values(answer.slows.queries)[0];
  return (
    <div class={weighing ? "old" : ""}>
      <p>{answer.slows.text}</p>
      <div class="table-box">
        <table>
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col" class="right">
                Now
              </th>
              <th scope="col" class="right">
                With it
              </th>
              <th scope="col">Effect</th>
            </tr>
          </thead>
          <tbody>
            {classes.map(([name, effect]) => (
              <tr key={name}>
                <td>
                  <ClassMark name={name} />
                </td>
                <td class="right">{duration(effect.without)}</td>
                <td class="right">{duration(effect.with)}</td>
                <td title={effect.error === null ? "" : `The replay of what was is off by ${percent(effect.error)}`}>
                  {effectWords(effect)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {own?.response_time.mean && (
        <p>
          Its own results would take {duration(own.response_time.mean)} on average, and{" "}
          {duration(own.response_time.p95)} at the 95th percentile.
        </p>
      )}
      <p class="quiet-text">Mean response times, by a replay of the last minute with this query added.</p>
    </div>
  );
}
