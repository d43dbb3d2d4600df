import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="policies" />
      <Empty title="Not built yet" />
    </>
  );
}
