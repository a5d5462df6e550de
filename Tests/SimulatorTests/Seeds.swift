import Simulator

/// Seeds that have found a fault, of the product or of the simulator, with what it was.
///
/// A seed draws other schedules once the simulator itself changes; then it is one more seed. Those
/// that say how many steps there are draw no more than was drawn when they were found.
struct KeptSeed: Sendable, CustomStringConvertible {
  let depth: Run.Depth
  let seed: UInt64
  /// Faults that are drawn in any case, and how many steps there are.
  var with: [Faults.Kind] = []
  var without: [Faults.Kind] = []
  var steps: Int?
  /// Though it says how many steps there are, it draws what schedules draw today.
  var isDrawn = false
  let found: String

  var plan: Run.Plan {
    var plan = Run.Plan(depth, seed: seed)
    (plan.with, plan.without) = (with, without)
    plan.steps = steps
    plan.isDrawn = isDrawn
    return plan
  }

  var description: String { "\(depth.rawValue) \(seed): \(found)" }

  static let all = early + late

  /// Those that were kept first; the others are in `Seeds+Late.swift`.
  private static let early = [
    KeptSeed(
      depth: .full, seed: 317, steps: 72,
      found: "a row was known under another key before its table came"),
    KeptSeed(
      depth: .full, seed: 363, steps: 43,
      found: "rows arrived before the settings that name their table"),
    KeptSeed(
      depth: .full, seed: 716, steps: 89,
      found: "a column that was kept beside a row came into its table"),
    KeptSeed(
      depth: .full, seed: 260, steps: 74,
      found: "an application wrote between two folds of one export"),
    KeptSeed(
      depth: .full, seed: 12_505, steps: 118,
      found: "a migration between two batches of a small export showed half a transaction"),
    KeptSeed(
      depth: .full, seed: 1_618, steps: 72,
      found: "a node that dropped a table with an edit that it had told nobody stays behind"),
    KeptSeed(
      depth: .full, seed: 3_195, steps: 114,
      found: "two nodes added the same columns in different orders"),
    KeptSeed(
      depth: .full, seed: 31_148, steps: 119,
      found: "a renamed table came back while an export was opened that took its rows for sent"),
    KeptSeed(
      depth: .full, seed: 32_153, steps: 55,
      found: "a table was renamed with edits that were not folded"),
    KeptSeed(
      depth: .full, seed: 2, steps: 41,
      found: "an anchor threw away the rows of tables whose settings it had not judged yet"),
    KeptSeed(
      depth: .full, seed: 528, steps: 107,
      found: "an edit was judged against a later one of its own author"),
    KeptSeed(
      depth: .full, seed: 577, steps: 58,
      found: "a rival that heard late of its own appointment never stood down"),
    KeptSeed(
      depth: .full, seed: 26, steps: 68,
      found: "settings that an anchor accepted took effect as its own"),
    KeptSeed(
      depth: .full, seed: 231, steps: 101,
      found: "what was settled without a word was never told as judged"),
    KeptSeed(
      depth: .full, seed: 1_928, steps: 42,
      found: "a new anchor told only what its judged frontier added to that of an earlier one"),
    KeptSeed(
      depth: .full, seed: 4_654, steps: 96,
      found: "an edit of equal content hid one that it was made over"),
    KeptSeed(
      depth: .pure, seed: 304, steps: 67,
      found: "an anchor stood down in the middle of an exchange, and hid what had come"),
    KeptSeed(
      depth: .pure, seed: 13_041, steps: 113,
      found: "an edit was rejected though it stood already"),
    KeptSeed(
      depth: .pure, seed: 3_464, steps: 93,
      found: "the end of a long exchange moved the judged frontier, and nobody was told"),
    KeptSeed(
      depth: .full, seed: 1_023_642, steps: 104,
      found: "rows that came before all tables were there were taken for edits of an application"),
    KeptSeed(
      depth: .full, seed: 493, steps: 110,
      found: "a node that may write nothing any more covered its old edits"),
    KeptSeed(
      depth: .full, seed: 739, steps: 82, found: "the first edit with a new right was refused"),
    KeptSeed(
      depth: .full, seed: 755, steps: 108,
      found: "a node asked without end for a row that nobody has"),
    KeptSeed(
      depth: .full, seed: 805, steps: 90,
      found: "a newer version of the same content did not put back what it should"),
    KeptSeed(
      depth: .full, seed: 70, steps: 87,
      found: "a row was asked for that was edited with the right to since"),
    KeptSeed(
      depth: .full, seed: 8_003_624, steps: 63,
      found: "a leaf covered what was replaced by edits that it had taken back"),
    KeptSeed(
      depth: .pure, seed: 19_294, steps: 73,
      found: "a row that was issued again had another time of creation elsewhere than here"),
    KeptSeed(
      depth: .pure, seed: 239, steps: 87,
      found: "an edit was made again on top of each word of the anchor against it, for ever"),
    KeptSeed(
      depth: .full, seed: 2_364, steps: 98,
      found: "an edit that its author wrote over was logged as lost to its author's own next one"),
    KeptSeed(
      depth: .pure, seed: 1_008_162, steps: 96,
      found: "a catch-up went on with a copy of its sender, below what the copy had not replaced"),
    KeptSeed(
      depth: .pure, seed: 1_117, steps: 90,
      found: "rows were asked for by digests before the time of the site was known"),
    KeptSeed(
      depth: .pure, seed: 1_386, steps: 109,
      found: "an edit that was made again forgot what it had seen"),
    KeptSeed(
      depth: .full, seed: 8_007_572, steps: 99,
      found: "an anchor accepted one half of OR REPLACE, and two nodes parked different rows"),
    KeptSeed(
      depth: .pure, seed: 9_000_495, steps: 118,
      found: "a replica in memory kept no name of an edit that its application had deleted"),
    KeptSeed(
      depth: .pure, seed: 9_124_192, steps: 96,
      found: "what one of two rivals had deleted was taken for accepted by its author"),
    KeptSeed(
      depth: .pure, seed: 9_146_718, steps: 102,
      found: "what an anchor between two terms of another had deleted was taken for accepted"),
    KeptSeed(
      depth: .pure, seed: 3_033_463, steps: 116,
      found: "what a node deleted while it waited for the office was taken for accepted"),
    KeptSeed(
      depth: .pure, seed: 9_111_221, steps: 86,
      found: "a delete that gave way at an anchor was not taken for judged: no log tells of it"),
    KeptSeed(
      depth: .full, seed: 2_349, steps: 112,
      found: "who was sent own edits that a copy had made did not go on under a new origin"),
    KeptSeed(
      depth: .pure, seed: 3_484, steps: 83,
      found: "two nodes that met only one between them went by two times for ever"),
    KeptSeed(
      depth: .pure, seed: 9_019_887, steps: 115,
      found: "what is judged last, for its name alone is there, was expected in its turn"),
    KeptSeed(
      depth: .pure, seed: 995, with: [.collection], steps: 250,
      found: "parts of a site that had not waited for each other took their cuts for the same"),
    KeptSeed(
      depth: .pure, seed: 29_817, with: [.collection], steps: 250,
      found: "who fetched everything anew was sent rows before it knew the floors"),
    KeptSeed(
      depth: .pure, seed: 3_362, with: [.collection, .slowness], steps: 250,
      found: "a row that was let go of came back with an exchange that had begun before"),
    KeptSeed(
      depth: .pure, seed: 57_799, with: [.collection, .restore, .absence, .clone], steps: 250,
      found: "a delete was forgotten by who came back, and an earlier edit of a third stood"),
    KeptSeed(
      depth: .pure, seed: 73_943, with: [.collection, .restore, .absence, .clone], steps: 250,
      found: "an old delete that was handed on hid one that the others had forgotten"),
    KeptSeed(
      depth: .full, seed: 148, steps: 120,
      found: "where the office ended, an edit gave way to an earlier one of its author"),
    KeptSeed(
      depth: .full, seed: 7_401_723, steps: 99,
      found: "what was logged when an application wrote in the middle was missed by the lineage"),
    KeptSeed(
      depth: .full, seed: 62_519, steps: 79,
      found: "a table was tracked on though its setting was taken back with the right to set it"),
    KeptSeed(
      depth: .full, seed: 7_400_713, steps: 72,
      found: "a row waited for a version that its author had taken back, and was never put back"),
    KeptSeed(
      depth: .pure, seed: 9_105_141, steps: 118,
      found: "a machine that was put back gave a number again, to the same content"),
    KeptSeed(
      depth: .pure, seed: 9_347_686, steps: 116,
      found: "an appointment that was heard of late did not change for whom the anchor waited"),
    KeptSeed(
      depth: .full, seed: 8_102_583, steps: 114,
      found: "the lineage missed a delete of who did not have all tables yet"),
    KeptSeed(
      depth: .full, seed: 5_254, steps: 150,
      found: "the lineage missed an edit that was written over with what another had written"),
    KeptSeed(
      depth: .full, seed: 5_330, steps: 150,
      found: "rights that were followed just before a process died were not looked at"),
    KeptSeed(
      depth: .full, seed: 168, with: [.collection, .office], steps: 26, isDrawn: true,
      found: "an edit that was made again with a slice of a catch-up was not on disk"),
    KeptSeed(
      depth: .full, seed: 61, with: [.collection, .office], steps: 69, isDrawn: true,
      found: "an edit was logged as unseen that was rejected before it was made again"),
    KeptSeed(
      depth: .full, seed: 996, with: [.collection, .office], steps: 60, isDrawn: true,
      found: "the same, after two take-overs"),
    KeptSeed(
      depth: .full, seed: 148, with: [.collection, .office], steps: 28, isDrawn: true,
      found: "an edit of an earlier life was not made again on the anchor's word on its base"),
    KeptSeed(
      depth: .full, seed: 528, with: [.collection, .office], steps: 75, isDrawn: true,
      found: "a former anchor's edit was lost to what it was made on when nobody judged any more"),
    KeptSeed(
      depth: .full, seed: 752, with: [.collection, .office], steps: 12, isDrawn: true,
      found: "a checker missed that an author's later edit had given way, too"),
    KeptSeed(
      depth: .full, seed: 966, with: [.collection, .office], steps: 33, isDrawn: true,
      found: "a checker missed that an equal edit was certified and replaced since"),
    KeptSeed(
      depth: .full, seed: 50_045, with: [.office, .migration], steps: 500,
      found: "a row that was deleted while its table was renamed came back with it"),
    KeptSeed(
      depth: .full, seed: 50_346, with: [.office, .migration], steps: 500,
      found: "the same, with a column that was added meanwhile"),
    KeptSeed(
      depth: .full, seed: 1_197, with: [], without: [.noClock], steps: 120, isDrawn: true,
      found: "an anchor's own edit was lost to its word that nothing stands where one was parked"),
    KeptSeed(
      depth: .full, seed: 191, with: [.unique], without: [.interleaving], steps: 150,
      isDrawn: true,
      found: "a parked row was put over what a program had written while no node ran"),
    KeptSeed(
      depth: .full, seed: 1_696, steps: 74, isDrawn: true,
      found: "verdicts of a life that was over were awaited for ever"),
    KeptSeed(
      depth: .full, seed: 500_730, with: [.collection, .office], without: [.noClock], steps: 44,
      isDrawn: true,
      found: "an edit that was there by name alone was logged without its content"),
    KeptSeed(
      depth: .full, seed: 502_417, with: [.collection, .office], steps: 124, isDrawn: true,
      found: "the same, of a row that others had deleted and forgotten"),
    KeptSeed(
      depth: .pure, seed: 30_991, with: [.collection, .office, .slowness], steps: 250,
      found: "an edit was handed on after what its author had written over it since"),
    KeptSeed(
      depth: .pure, seed: 31_163, with: [.collection, .office, .slowness], steps: 250,
      found: "a checker missed that an edit by name alone falls with what was made over it"),
    KeptSeed(
      depth: .pure, seed: 65_535, with: [.collection, .office, .slowness], steps: 250,
      found: "who took office and wrote its row again took the edit before for accepted"),
    KeptSeed(
      depth: .pure, seed: 61_938, with: [.collection, .office, .slowness], steps: 250,
      found: "an edit of a row that others had forgotten was logged and taken for accepted"),
    KeptSeed(
      depth: .pure, seed: 63_049, with: [.collection, .office, .slowness], steps: 250,
      found: "an author wrote over what had taken the place of its own certified edit"),
    KeptSeed(
      depth: .pure, seed: 67_649, with: [.collection, .office, .slowness], steps: 250,
      found: "the same"),
    KeptSeed(
      depth: .pure, seed: 115_174, with: [.collection, .office, .slowness], steps: 250,
      found: "a row that had come was handed on, for its exchange was not over"),
    KeptSeed(
      depth: .pure, seed: 113_035, with: [.collection, .office, .slowness], steps: 250,
      found: "a checker missed that an ancestor was accepted after the edit was rejected"),
    KeptSeed(
      depth: .pure, seed: 30_015, with: [.collection, .office, .slowness], steps: 250,
      found: "an edit was missed whose author was lost before it could log it"),
    KeptSeed(
      depth: .pure, seed: 67_143, with: [.collection, .office, .slowness], steps: 250,
      found: "an edit of a life that was over waits where its exchange did not end"),
    KeptSeed(
      depth: .pure, seed: 63_694, with: [.collection, .office, .slowness], steps: 250,
      found: "nodes that all catch up from each other paused for ever before anything counted"),
    KeptSeed(
      depth: .full, seed: 500_110, with: [.collection, .office], without: [.partition, .noClock],
      steps: 12, isDrawn: true,
      found: "a delete that waited under an equal word was undone by the word on what it deleted"),
    KeptSeed(
      depth: .full, seed: 500_369, with: [.collection, .office],
      without: [.interruption, .ioError, .clockStep, .absence], steps: 14, isDrawn: true,
      found: "the same, and what stood was logged as lost to an edit that had seen it"),
    KeptSeed(
      depth: .full, seed: 501_719, with: [.collection, .office], without: [.noClock], steps: 69,
      isDrawn: true,
      found: "the same, where the office ended before that word came, and a row was parked for ever"
    ),
    KeptSeed(
      depth: .full, seed: 502_590, with: [.collection, .office], steps: 23, isDrawn: true,
      found: "a checker missed that an equal edit was certified, and written over then"),
    KeptSeed(
      depth: .full, seed: 502_801, with: [.collection, .office], without: [.noClock], steps: 100,
      isDrawn: true,
      found: "a checker missed that an ancestor took the place of what an edit had lost to"),
    KeptSeed(
      depth: .pure, seed: 67_559, with: [.collection, .office, .slowness], steps: 250,
      found: "a checker missed a delete that was replaced before anybody saw it"),
    KeptSeed(
      depth: .pure, seed: 65_819, with: [.collection, .office, .slowness], steps: 250,
      found: "an edit that was issued again went behind what it had replaced, by its new origin"),
    KeptSeed(
      depth: .pure, seed: 211_340, with: [.collection, .office, .slowness], steps: 250,
      found: "a checker did not know what an edit was made over that was given up at once"),
    KeptSeed(
      depth: .pure, seed: 2_136, with: [.collection, .absence, .restore, .clone], steps: 250,
      found: "a checker missed that a copy had numbered an edit anew that it had brought"),
    KeptSeed(
      depth: .full, seed: 1_094, with: [], without: [.ioError], steps: 1, isDrawn: true,
      found: "what an edit that was taken back had outranked was missing and still covered"),
    KeptSeed(
      depth: .full, seed: 1_993, with: [],
      without: [.reordering, .partition, .ioError, .clockStep, .migration], steps: 1, isDrawn: true,
      found: "a push that was on its way when rights changed was taken for one with a gap"),
    KeptSeed(
      depth: .full, seed: 502_729, with: [.collection, .office], steps: 111, isDrawn: true,
      found: "a checker missed that a delete gave way that had seen an accepted edit"),
    KeptSeed(
      depth: .pure, seed: 1_907, with: [.collection, .slowness], steps: 163,
      found: "a checker took a row for known that was in a copied journal and deleted then"),
    KeptSeed(
      depth: .pure, seed: 7_292, with: [.collection, .slowness], steps: 250,
      found: "a checker forgot who hears in an exchange that others have let go of something"),
    KeptSeed(
      depth: .full, seed: 600_034, with: [.collection, .office], steps: 50, isDrawn: true,
      found: "a checker took a row for lost that is parked beside one that the anchor put back"),
    KeptSeed(
      depth: .full, seed: 610_370, with: [.collection, .office],
      found: "a checker took a row for seen that came by name alone, over what was there before"),
    KeptSeed(
      depth: .pure, seed: 701_739, with: [.collection, .office], steps: 250,
      found: "who fetched all anew handed on what was on its way, and it won over its successor"),
    KeptSeed(
      depth: .pure, seed: 703_610, with: [.collection, .office], steps: 250,
      found: "a checker missed that an author had deleted what it would have handed on"),
  ]
}
