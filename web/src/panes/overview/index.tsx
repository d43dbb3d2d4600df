/** The overview: what is wrong first, then classes, the queries worst off, streams and workers. */

import { status } from "../../live/connection";
import { Empty, PageHead } from "../../ui/panel";
import { Loading } from "../../ui/problem_box";
import { ClassesPanel } from "./classes_panel";
import { FaultsPanel } from "./faults_panel";
import { FirstSteps } from "./first_steps";
import { StreamsPanel } from "./streams_panel";
import { WorkersPanel } from "./workers_panel";
import { WorstPanel } from "./worst_panel";
import "./overview.css";

export default function Overview() {
  const now = status.value;
  if (!now) return <Loading what="Asking the server how it is doing" />;
  const empty = Object.keys(now.queries ?? {}).length === 0;
  return (
    <>
      <PageHead title="Overview" />
      {!now.classes ? (
        <Empty title="The engine is not ready">What it does is shown here as soon as it is.</Empty>
      ) : (
        <>
          <FaultsPanel />
          {empty && <FirstSteps streams={Object.keys(now.streams ?? {}).length} />}
          <ClassesPanel />
          <WorstPanel />
          <div class="columns">
            <StreamsPanel />
            <WorkersPanel />
          </div>
        </>
      )}
    </>
  );
}
