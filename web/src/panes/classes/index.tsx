/** Classes: what they promise and how they do, response times over time, and declaring, changing and removing them. */

import type { ClassDetails } from "../../api/types";
import { useAll } from "../../lib/all_pages";
import { choose, place } from "../../lib/router";
import { status } from "../../live/connection";
import { may } from "../../live/me";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Loading, ProblemBox } from "../../ui/problem_box";
import { ChangePanel } from "./change_panel";
import { ClassTable } from "./class_table";
import { NewPanel } from "./new_panel";
import { ResponsePanel } from "./response_panel";
import "./classes.css";

export default function Classes() {
  const live = status.value?.classes ?? {};
  // others declare and change classes, too: the live status tells that something is different
  const version = JSON.stringify(Object.entries(live).map(([name, { priority }]) => [name, priority]));
  const classes = useAll<ClassDetails>("/v1/classes", version);
  const operator = may("operate", { shared: true });
  const query = place.value.query;
  const changed = operator ? classes.data?.find((one) => one.name === query.get("change")) : undefined;
  return (
    <>
      <PageHead
        title="Classes"
        lead="Every query belongs to a class. Its priority says how important it is compared with others; policies that look at classes share the workers accordingly."
        actions={
          operator && (
            <button type="button" class="button primary" onClick={() => choose({ new: "class", change: null })}>
              Declare a class
            </button>
          )
        }
      />
      <ProblemBox problem={classes.error} retry={classes.reload} />
      {classes.loading && <Loading />}
      {operator && query.get("new") === "class" && <NewPanel reload={classes.reload} />}
      {classes.data && (
        <Panel title="All classes" note="response times of the last minute">
          {classes.data.length ? (
            <ClassTable classes={classes.data} reload={classes.reload} />
          ) : (
            <Empty title="There is no class yet">
              {operator
                ? "Declare one, then submit queries into it."
                : "Somebody with the role operate can declare one."}
            </Empty>
          )}
        </Panel>
      )}
      {changed && <ChangePanel key={changed.name} of={changed} all={classes.data!} reload={classes.reload} />}
      {classes.data && classes.data.length > 0 && <ResponsePanel classes={classes.data} />}
    </>
  );
}
