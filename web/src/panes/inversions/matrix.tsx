import { classRanks } from "../../lib/colours";
import { duration } from "../../lib/format";
import { ClassMark, cssVariables } from "../../ui/marks";
import { Panel } from "../../ui/panel";
import { type ClassLoss, ELSEWHERE } from "./losses";

/** Seconds that each class lost, by the class whose work took them. */
export function Matrix({ losses, over }: { losses: readonly ClassLoss[]; over: number }) {
  const columns = [...new Set(losses.flatMap((loss) => [...loss.to.keys()]))].sort((a, b) => rank(a) - rank(b));
  const most = Math.max(...losses.flatMap((loss) => [...loss.to.values()]), 1e-9);
  return (
    <Panel title="Seconds lost, and to whom" note={`all results of the last ${duration(Math.round(over))} together`}>
      <section
        class="table-box"
        aria-label="Seconds lost by class"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        tabIndex={0}
      >
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Who lost</th>
              {columns.map((name) => (
                <th key={name} scope="col" class="right">
                  {name === ELSEWHERE ? (
                    "elsewhere"
                  ) : (
                    <span class="row">
                      to <ClassMark name={name} />
                    </span>
                  )}
                </th>
              ))}
              <th scope="col" class="right">
                altogether
              </th>
            </tr>
          </thead>
          <tbody>
            {losses.map((loss) => (
              <tr key={loss.name}>
                <th scope="row">
                  <ClassMark name={loss.name} />
                </th>
                {columns.map((name) => (
                  <Cell key={name} seconds={loss.to.get(name)} most={most} whole={loss.seconds} />
                ))}
                <td class="right">
                  <strong>{duration(loss.seconds)}</strong>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <p class="quiet-text">
        Each result of a class counts by how much longer it took than those of the less important class against which it
        lost most. The longer the bar, the more was lost.
      </p>
    </Panel>
  );
}

const rank = (name: string): number => (name === ELSEWHERE ? 1e6 : (classRanks.value.get(name) ?? 1e5));

function Cell({ seconds, most, whole }: { seconds: number | undefined; most: number; whole: number }) {
  if (!seconds) return <td class="right quiet-text">–</td>;
  return (
    <td class="right cell" title={`${Math.round((seconds / whole) * 100)} % of what it lost`}>
      <span class="cell-bar" aria-hidden="true" style={cssVariables({ width: `${(seconds / most) * 100}%` })} />
      <span class="cell-text">{duration(seconds)}</span>
    </td>
  );
}
