import { useMemo } from "preact/hooks";
import type { ClassDetails } from "../../api/types";
import { classColour, classRanks } from "../../lib/colours";
import { choose, place } from "../../lib/router";
import { Chart, type Line } from "../../ui/chart";
import { Choice } from "../../ui/choice";
import { Empty, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { aboveZero, type Curves, useCurves } from "./curves";

type Measure = "p50" | "p95";

/** Response times of every class over the last ten minutes. */
export function ResponsePanel({ classes }: { classes: readonly ClassDetails[] }) {
  const { curves, error } = useCurves();
  const query = place.value.query;
  const measure: Measure = query.get("measure") === "p50" ? "p50" : "p95";
  const log = query.get("scale") !== "linear";
  const ranks = classRanks.value;
  const lines = useMemo(
    () => (curves ? linesOf(curves, classes, measure, log) : []),
    [curves, classes, measure, log, ranks],
  );
  return (
    <Panel
      title="Response times"
      note="of the last ten minutes"
      actions={
        <>
          <Choice<Measure>
            label="Measure"
            value={measure}
            options={[
              ["p50", "p50"],
              ["p95", "p95"],
            ]}
            onChoose={(value) => choose({ measure: value === "p95" ? null : value })}
          />
          <Choice
            label="Scale"
            value={log ? "log" : "linear"}
            options={[
              ["log", "log"],
              ["linear", "linear"],
            ]}
            onChoose={(value) => choose({ scale: value === "log" ? null : value })}
          />
        </>
      }
    >
      <ProblemBox problem={error} />
      {!curves && !error && <Loading />}
      {curves && !curves.at.length && (
        <Empty title="Nothing is known yet">The first values are there after some seconds.</Empty>
      )}
      {curves && curves.at.length > 0 && (
        <Chart
          label={`${measure} of the response times of ${lines.map((line) => line.name).join(", ")} over the last ten minutes`}
          at={curves.at}
          lines={lines}
          height={280}
          log={log}
        />
      )}
    </Panel>
  );
}

function linesOf(curves: Curves, classes: readonly ClassDetails[], measure: Measure, log: boolean): Line[] {
  return classes
    .filter((one) => curves.classes[one.name])
    .map((one) => {
      const values = curves.classes[one.name]![measure];
      return { name: one.name, colour: classColour(one.name), values: log ? aboveZero(values) : values };
    });
}
