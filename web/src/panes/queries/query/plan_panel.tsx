import type { PlanNode, QueryDetails } from "../../../api/types";
import { count, duration, percent, rate } from "../../../lib/format";
import { QueryLink, StreamLink } from "../../../ui/marks";
import { Panel } from "../../../ui/panel";

/** The plan as a tree: the results above, streams below, with what was measured at every operator. */
export function PlanPanel({ query }: { query: QueryDetails }) {
  const { plan, group, name } = query;
  return (
    <Panel title="Plan" note={<a href="/network">network</a>}>
      <ul class="plan" aria-label="Plan, from the results to the streams">
        <Operator node={plan} measured={null} />
      </ul>
      <p class="quiet-text plan-group">
        {group.length > 1 ? (
          <>
            Shares its jobs with <Names names={group.filter((other) => other !== name)} />.
          </>
        ) : (
          "Has jobs of its own."
        )}
        {plan.runs !== undefined && ` ${count(plan.runs)} runs`}
        {!!plan.overhead && `, each with ${duration(plan.overhead)} of overhead`}
        {plan.runs !== undefined && "."}
      </p>
    </Panel>
  );
}

/** An operator with those that feed it; `measured`: the id of the one whose numbers include this one's. */
function Operator({ node, measured }: { node: PlanNode; measured: string | null }) {
  const within = measured !== null && node.cost === null && node.kind !== "stream" && node.kind !== "table";
  const covers = node.covers && node.covers.length > 1;
  return (
    <li>
      <div class={`operator ${node.shared_with.length ? "shared" : ""}`}>
        <div>
          <span class="kind">{node.kind}</span>{" "}
          {node.kind === "stream" ? <StreamLink name={node.text} /> : <code>{node.text}</code>}
        </div>
        <dl class="numbers">
          {node.rows_in_per_second !== null && <Figure name="in" value={rate(rounded(node.rows_in_per_second))} />}
          {node.rows_out_per_second !== null && <Figure name="out" value={rate(rounded(node.rows_out_per_second))} />}
          {node.cost !== null && (
            <Figure
              name="cost"
              value={duration(node.cost)}
              help={`Seconds of a worker for each tuple${covers ? ", with the operators below it" : ""}`}
            />
          )}
          {node.selectivity !== null && (
            <Figure
              name="selectivity"
              value={percent(node.selectivity)}
              help="How many rows come out for each that goes in"
            />
          )}
        </dl>
        {within && <div class="quiet-text">measured with the operator above</div>}
        {node.shared_with.length > 0 && (
          <div class="shared-with">
            <span class="badge">shared</span> with <Names names={node.shared_with} />
          </div>
        )}
      </div>
      {node.inputs.length > 0 && (
        <ul>
          {node.inputs.map((input) => (
            <Operator key={input.id} node={input} measured={covers ? node.id : measured} />
          ))}
        </ul>
      )}
    </li>
  );
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

function Figure({ name, value, help }: { name: string; value: string; help?: string }) {
  return (
    <div title={help}>
      <dt>{name}</dt>
      <dd class="number">{value}</dd>
    </div>
  );
}

const SHOWN = 6;

function Names({ names }: { names: readonly string[] }) {
  const more = names.length - SHOWN;
  return (
    <>
      {names.slice(0, SHOWN).map((name, place) => (
        <span key={name}>
          {place > 0 && ", "}
          <QueryLink name={name} />
        </span>
      ))}
      {more > 0 && <span title={names.slice(SHOWN).join(", ")}> and {more} more</span>}
    </>
  );
}
