package headgate;

import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedLambdaVariable;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.aggregate.Mode;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** A plan as JSON: for each operator and expression its class, the fields that `allowed_nodes.py` reads, and its children. */
public class Walk {
  private final StringBuilder out = new StringBuilder();

  public String json(Object plan) {
    Walk walk = new Walk();
    walk.node((TreeNode) plan);
    return walk.out.toString();
  }

  private void node(TreeNode node) {
    out.append("{\"class\":");
    text(node.getClass().getName());
    if (node instanceof Expression) expression((Expression) node);
    out.append(",\"below\":[");
    boolean first = true;
    if (node instanceof QueryPlan) first = all(((QueryPlan) node).expressions(), first);
    if (node instanceof PlanExpression) first = single(((PlanExpression) node).plan(), first);
    all(node.children(), first);
    out.append("]}");
  }

  private boolean all(scala.collection.Iterable nodes, boolean first) {
    scala.collection.Iterator rest = nodes.iterator();
    while (rest.hasNext()) first = single(rest.next(), first);
    return first;
  }

  private boolean single(Object node, boolean first) {
    if (!first) out.append(",");
    node((TreeNode) node);
    return false;
  }

  private void expression(Expression node) {
    field("type", type(node));
    if (node instanceof Literal) {
      Object value = ((Literal) node).value();
      field("value", value == null ? null : value.toString());
      field("value_class", value == null ? null : value.getClass().getName());
    } else if (node instanceof StaticInvoke) {
      field("owner", ((StaticInvoke) node).staticObject().getName());
      field("method", ((StaticInvoke) node).functionName());
    } else if (node instanceof Invoke) {
      field("method", ((Invoke) node).functionName());
    } else if (node instanceof Cast) {
      field("written", String.valueOf(node.getTagValue(Cast.USER_SPECIFIED_CAST()).isDefined()));
    } else if (node instanceof NamedLambdaVariable) {
      field("variable", String.valueOf(((NamedLambdaVariable) node).exprId().id()));
    } else if (node instanceof Mode) {
      field("decides", String.valueOf(((Mode) node).reverseOpt().isDefined()));
    }
  }

  private String type(Expression node) {
    try {
      return node.dataType().typeName();
    } catch (Exception without) { // a specification of a window has no type
      return null;
    }
  }

  private void field(String name, String value) {
    if (value == null) return;
    out.append(",\"").append(name).append("\":");
    text(value);
  }

  private void text(String value) {
    out.append('"').append(com.fasterxml.jackson.core.io.JsonStringEncoder.getInstance().quoteAsString(value)).append('"');
  }
}
