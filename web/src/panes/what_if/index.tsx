/** What-if: what other policies, priorities, rates or queries would have made of the last minutes. */

import { place } from "../../lib/router";
import { may } from "../../live/me";
import { NotAllowed } from "../../ui/not_allowed";
import { Empty, PageHead, Panel } from "../../ui/panel";
import { Waiting } from "../../ui/preview";
import { ProblemBox } from "../../ui/problem_box";
import { Answer } from "./answer";
import { ask, asking, leave } from "./asking";
import { addressOf, questionOf } from "./question";
import { QuestionForm } from "./question_form";
import "./what_if.css";

export default function WhatIf() {
  const allowed = may("operate", { shared: true });
  return (
    <>
      <PageHead
        title="What-if"
        lead="The last minutes are replayed: the same tuples come at the same times, but something else decides, or something is different. The recorded policy is replayed, too, so that you see how far a replay can be believed."
      />
      {allowed ? <Asked /> : <NotAllowed what="ask what would have been" />}
    </>
  );
}

function Asked() {
  const question = questionOf(place.value.query);
  const now = asking.value;
  return (
    <>
      <QuestionForm question={question} busy={now.state === "asking"} />
      <div aria-live="polite" class="stack">
        {now.state === "none" && (
          <Panel title="Answer">
            <Empty title="Nothing was asked yet">
              Choose policies or something else that is to be different, and ask. It takes some seconds.
            </Empty>
          </Panel>
        )}
        {now.state === "asking" && (
          <Panel title="Answer">
            <Waiting since={now.since} busy={now.busy} leave={leave} />
            <p class="quiet-text">
              You may look at something else meanwhile: the answer stays here until another question is asked.
            </p>
          </Panel>
        )}
        {now.state === "failed" && <ProblemBox problem={now.problem} retry={() => void ask(now.question)} />}
        {now.state === "told" && (
          <>
            {addressOf(now.question) !== addressOf(question) && (
              <p class="notice">The question above has been changed since: this answer is to the one before.</p>
            )}
            <Answer question={now.question} answer={now.answer} took={now.took} at={now.at} />
          </>
        )}
      </div>
    </>
  );
}
