import { useMemo } from "preact/hooks";
import { type LatencyCurve, PARTS, type TimeShares } from "../../../api/types";
import { count, duration, percent } from "../../../lib/format";
import type { Answer } from "../../../lib/polling";
import { Chart, stacked } from "../../../ui/chart";
import { cssVariables } from "../../../ui/marks";
import { Empty, Panel } from "../../../ui/panel";
import { Loading } from "../../../ui/problem_box";
import { meanParts, PART_NAMES, PART_WORDS, partColour } from "./curve_numbers";

/** Where the time of results goes: as bands over time, and as means in words. */
export function TimePanel({ curve: { data, loading } }: { curve: Answer<LatencyCurve> }) {
  const means = useMemo(() => (data ? meanParts(data) : null), [data]);
  const lines = useMemo(
    () =>
      data
        ? stacked(PARTS.map((part) => ({ name: PART_NAMES[part], values: data.parts[part], colour: partColour(part) })))
        : [],
    [data],
  );
  return (
    <Panel title="Where its time goes" note="means of the results of each moment">
      {loading && <Loading />}
      {data && !means && <Empty title="No results in this time" />}
      {data && means && (
        <>
          <Chart
            label={`Where the time of its results goes over time; on average ${inWords(means)}`}
            at={data.at}
            lines={lines}
          />
          <PartsInWords means={means} />
        </>
      )}
    </Panel>
  );
}

const inWords = (means: TimeShares): string =>
  PARTS.map((part) => `${PART_NAMES[part]} ${duration(means.parts[part])}`).join(", ");

/** The parts of a time, each with its length, its share, and what it means. */
export function PartsInWords({ means }: { means: TimeShares }) {
  const { results, seconds, parts } = means;
  return (
    <>
      <p class="means">
        On average a result took <strong class="number">{duration(seconds)}</strong> ({count(results)} results):
      </p>
      <ul class="parts">
        {PARTS.filter((part) => parts[part] > 0).map((part) => (
          <li key={part} style={cssVariables({ "--colour": partColour(part) })}>
            <i aria-hidden="true" />
            <span class="number">{duration(parts[part])}</span>
            <span class="number">{percent(seconds ? parts[part] / seconds : 0)}</span>
            <span>
              {PART_NAMES[part]}: {PART_WORDS[part]}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
