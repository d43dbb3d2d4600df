import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="new_query" />
      <Empty title="Not built yet" />
    </>
  );
}
