import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="timeline" />
      <Empty title="Not built yet" />
    </>
  );
}
