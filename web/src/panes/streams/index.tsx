import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="streams" />
      <Empty title="Not built yet" />
    </>
  );
}
