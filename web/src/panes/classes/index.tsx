import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="classes" />
      <Empty title="Not built yet" />
    </>
  );
}
