import Replication

/// From where this replica looks at each version now: who it is, who has gone, what was judged.
///
/// A new life changes `own`, a verdict `judged`: the parts that know of it write it here.
final class PresentViewpoint {
  var value: Viewpoint

  init(own: Origin) { value = Viewpoint(own: own, office: Office(), judged: Judged()) }
}
