import { Empty, PageHead } from "../../ui/panel";

export default function Pane() {
  return (
    <>
      <PageHead title="network" />
      <Empty title="Not built yet" />
    </>
  );
}
