import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="queries" />
      <Empty title="Not built yet" />
    </>
  );
}
