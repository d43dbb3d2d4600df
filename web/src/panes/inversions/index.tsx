import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="inversions" />
      <Empty title="Not built yet" />
    </>
  );
}
