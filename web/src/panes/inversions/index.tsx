/** Inversions: classes that answer later than less important ones, what they lost, and to whom. */

import { withQuery } from "../../api/client";
import type { Inversions as Told } from "../../api/deciding_types";
import { useAnswer } from "../../lib/polling";
import { choose, place } from "../../lib/router";
import { status } from "../../live/connection";
import { Choice } from "../../ui/choice";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { LossPanel } from "./loss_panel";
import { lossesByClass } from "./losses";
import { Matrix } from "./matrix";
import { StarvingPanel } from "./starving_panel";
import "./inversions.css";

const EACH = 4000; // milliseconds
const STRETCHES = ["1", "5", "10"] as const;

export default function Inversions() {
  const wanted = place.value.query.get("minutes") as (typeof STRETCHES)[number];
  const minutes = STRETCHES.includes(wanted) ? wanted : "1";
  const answer = useAnswer<Told>(withQuery("/v1/inversions", { over: `${Number(minutes) * 60} s` }), EACH);
  return (
    <>
      <PageHead
        title="Inversions"
        lead="A class that answers later than a less important one has lost time to something. Here is how much, and to whom."
        actions={
          <Choice
            label="How far back"
            value={minutes}
            options={STRETCHES.map((one) => [one, `last ${one} min`] as const)}
            onChoose={(value) => choose({ minutes: value === "1" ? null : value })}
          />
        }
      />
      {answer.error && !answer.data && !status.value?.runs ? (
        <NothingYet />
      ) : (
        <ProblemBox problem={answer.error} retry={answer.reload} />
      )}
      {answer.loading && <Loading what="Asking who delayed whom" />}
      {answer.data && <Found told={answer.data} />}
    </>
  );
}

function Found({ told }: { told: Told }) {
  const losses = lossesByClass(told.inversions);
  return (
    <>
      {losses.length === 0 ? (
        <AllWell />
      ) : (
        <>
          <Matrix losses={losses} over={told.to - told.from} />
          {losses.map((loss) => (
            <LossPanel key={loss.name} loss={loss} />
          ))}
        </>
      )}
      <StarvingPanel starving={told.starving} />
    </>
  );
}

function NothingYet() {
  return (
    <Panel title="No inversion">
      <Empty title="Nothing has run yet">
        As soon as queries of two classes have results, it is told here whether the important ones come first.
      </Empty>
    </Panel>
  );
}

function AllWell() {
  const classes = Object.keys(status.value?.classes ?? {}).length;
  return (
    <Panel title="No inversion">
      <Empty title="✓ No class answers later than a less important one">
        {classes < 2 ? "There is but one class with queries: nothing can be inverted." : "That is how it should be."}
      </Empty>
    </Panel>
  );
}
