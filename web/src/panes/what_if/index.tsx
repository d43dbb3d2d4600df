import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="what_if" />
      <Empty title="Not built yet" />
    </>
  );
}
