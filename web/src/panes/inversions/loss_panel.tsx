import type { Share } from "../../api/deciding_types";
import { duration, percent, plural } from "../../lib/format";
import { ClassMark, cssVariables, QueryLink } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { byCause, type ClassLoss, causeMeaning, OTHER_WORK } from "./losses";

const SHOWN_QUERIES = 4;

/** What one class lost: in words, then by reason and kind of work. */
export function LossPanel({ loss }: { loss: ClassLoss }) {
  const { pair, others, name } = loss;
  return (
    <Panel title={`What ${name} lost`} note={plural(pair.results, "result")}>
      <div class="stack">
        <ul class="pairs">
          {[pair, ...others].map((one) => (
            <li key={one.below}>
              <ClassMark name={one.above} /> answers in <strong>{duration(one.response_above)}</strong>,{" "}
              <ClassMark name={one.below} />, less important, in <strong>{duration(one.response_below)}</strong>.
              <div class="quiet-text">{one.summary}</div>
            </li>
          ))}
        </ul>
        {byCause(pair.sum.to).map(({ cause, seconds, shares }) => (
          <div key={cause}>
            <h3>
              {cause}: {duration(seconds)} <span class="quiet-text">{percent(seconds / loss.seconds)}</span>
              {causeMeaning(cause) && <span class="cause-meaning">{causeMeaning(cause)}</span>}
            </h3>
            <ul class="shares">
              {shares.map((share) => (
                <ShareLine key={`${share.whom} ${share.work} ${share.class}`} share={share} most={loss.seconds} />
              ))}
            </ul>
          </div>
        ))}
      </div>
    </Panel>
  );
}

/** The seconds that went to one class's work of one kind. */
function ShareLine({ share, most }: { share: Share; most: number }) {
  const { whom, queries, seconds, runs, work } = share;
  const kind = work && !whom.includes(work) ? `, ${work}` : "";
  return (
    <li>
      <span class="share-bar" aria-hidden="true">
        <span style={cssVariables({ width: `${Math.min(1, seconds / most) * 100}%` })} />
      </span>
      <span class="number">{duration(seconds)}</span>
      <span>
        {whom}
        {kind}
        {runs > 0 && <span class="quiet-text"> in {plural(runs, "run")}</span>}
        {queries.length > 0 && <Queries names={queries} />}
      </span>
    </li>
  );
}

function Queries({ names: all }: { names: readonly string[] }) {
  const names = all.filter((name) => name !== OTHER_WORK);
  if (!names.length) return null;
  const shown = names.slice(0, SHOWN_QUERIES);
  return (
    <span class="share-queries">
      :{" "}
      {shown.map((name, at) => (
        <span key={name}>
          {at > 0 && ", "}
          <QueryLink name={name} />
        </span>
      ))}
      {names.length > shown.length && (
        <span title={names.slice(SHOWN_QUERIES).join(", ")}> and {names.length - shown.length} more</span>
      )}
    </span>
  );
}
