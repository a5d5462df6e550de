import Simulator

extension KeptSeed {
  /// Those that were kept last; a new one goes to the end.
  static let late = [
    KeptSeed(
      depth: .pure, seed: 709_623, with: [.collection, .office], steps: 250,
      found: "a checker missed that an edit was given up with what was made over it"),
    KeptSeed(
      depth: .pure, seed: 714_461, with: [.collection, .office], steps: 250,
      found: "the same, under a later appointment"),
    KeptSeed(
      depth: .pure, seed: 741_459, with: [.collection, .office], steps: 250,
      found: "a checker missed a delete that agrees with what others have deleted and forgotten"),
    KeptSeed(
      depth: .pure, seed: 755_345, with: [.collection, .office], steps: 250,
      found: "a checker did not know that an edit was there by name alone, and came last"),
    KeptSeed(
      depth: .pure, seed: 758_435, with: [.collection, .office], steps: 250,
      found: "a checker took what stood when an edit was heard of late for its ancestor"),
    KeptSeed(
      depth: .pure, seed: 765_331, with: [.collection, .office], steps: 250,
      found: "the same as 755345, with names that a former anchor had passed on"),
    KeptSeed(
      depth: .pure, seed: 705_224, with: [.collection, .office], steps: 250,
      found: "an author forgot its own edit that others had let go of when the office ended"),
    KeptSeed(
      depth: .pure, seed: 822_220, with: [], without: [.noClock, .interleaving], steps: 54,
      isDrawn: true,
      found: "an edit that was accepted and then overruled was judged again: a late certificate"),
    KeptSeed(
      depth: .pure, seed: 728_278, with: [.collection, .office], steps: 250,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 4_094,
      found: "a checker did not see what a node took back before it had all tables"),
    KeptSeed(
      depth: .full, seed: 5_118,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 6_358,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 53_982,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 67_357,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 78_213,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 57_845,
      found: "the same, where the row was written over by who may not"),
    KeptSeed(
      depth: .full, seed: 77_424,
      found: "the same, where it came to nobody and its number was covered later"),
    KeptSeed(
      depth: .full, seed: 19_464,
      found: "a checker missed that a leaf keeps a row that it wrote over what others took back"),
    KeptSeed(
      depth: .full, seed: 28_861,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 25_678,
      found: "the same, where a leaf was told of what it wrote over, and others were not"),
    KeptSeed(
      depth: .full, seed: 70_491,
      found: "a checker took a delete for lost that its author took back and one member had got"),
    KeptSeed(
      depth: .full, seed: 34_154,
      found: "a checker missed that a leaf parks a row beside what it should not show any more"),
    KeptSeed(
      depth: .full, seed: 53_891,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 201_339, with: [.rights],
      without: [.siteTime, .restore, .clone, .collection, .unique, .removal, .office],
      found: "who may do everything again waited for ever for what its author had taken back"),
    KeptSeed(
      depth: .full, seed: 215_628, with: [.rights],
      without: [.siteTime, .restore, .clone, .collection, .unique, .removal, .office],
      found: "the same, where it counted that as held, so that nobody was ever in sync with it"),
    KeptSeed(
      depth: .full, seed: 206_457, with: [.rights],
      without: [.siteTime, .restore, .clone, .collection, .unique, .removal, .office],
      found: "a checker did not know that what a row waits for had replaced what is covered"),
    KeptSeed(
      depth: .full, seed: 216_134, with: [.rights],
      without: [.siteTime, .restore, .clone, .collection, .unique, .removal, .office],
      found: "a checker took a row for written that was as it had come before all tables"),
    KeptSeed(
      depth: .full, seed: 15_042, without: [.noClock], steps: 19, isDrawn: true,
      found: "a push was covered without what had outranked it, which no list told of any more"),
    KeptSeed(
      depth: .full, seed: 16_726,
      found: "a checker did not know an edit that says what another one says, which was deleted"),
    KeptSeed(
      depth: .full, seed: 20_677, without: [.noClock], steps: 81, isDrawn: true,
      found: "a checker held it against an edit that it was placed by a clock that drifts"),
    KeptSeed(
      depth: .full, seed: 78_176,
      found: "a checker missed that an edit was deleted by one who had seen it, and more came"),
    KeptSeed(
      depth: .full, seed: 7_061, without: [.interruption, .ioError], steps: 19, isDrawn: true,
      found: "a checker missed an edit that gave way to one of equal content in mid work"),
    KeptSeed(
      depth: .full, seed: 76_488, without: [.noClock], steps: 143, isDrawn: true,
      found: "a checker took rulings for new by their place, and they are kept in another order"),
    KeptSeed(
      depth: .pure, seed: 905_314, with: [.collection, .office], steps: 250,
      found: "a checker took a delete in a renewal for one that waited and was handed on"),
    KeptSeed(
      depth: .full, seed: 72_000, without: [.loss, .oneWay, .noClock, .burst], steps: 19,
      isDrawn: true,
      found: "a node that died and started while all healed did not fold, as a real one does"),
    KeptSeed(
      depth: .full, seed: 10_384,
      found: "what its author took back, and who held it had ceased to cover, was never judged"),
    KeptSeed(
      depth: .full, seed: 12_585,
      found: "an anchor did not judge what an author had taken back, for its number was covered"),
    KeptSeed(
      depth: .full, seed: 39_737, steps: 51, isDrawn: true,
      found: "a checker took an overruled edit for another where its author had made it again"),
    KeptSeed(
      depth: .full, seed: 48_346, without: [.noClock], steps: 120, isDrawn: true,
      found: "the same, where the edit was written over under its first number"),
    KeptSeed(
      depth: .full, seed: 40_359, steps: 52, isDrawn: true,
      found: "a checker did not know that an earlier anchor had certified edits with another time"),
    KeptSeed(
      depth: .full, seed: 70_511, steps: 10, isDrawn: true,
      found: "a checker did not know that what reached a leaf alone leaves a row waiting there"),
    KeptSeed(
      depth: .full, seed: 69_689, steps: 87, isDrawn: true,
      found: "a checker missed what an edit that was taken back had been made over in mid work"),
    KeptSeed(
      depth: .full, seed: 74_885, steps: 64, isDrawn: true,
      found: "the same where it was folded when the rights changed, and taken back at once"),
    KeptSeed(
      depth: .full, seed: 103_009, with: [.rights, .office],
      found: "a checker forgot what was folded when rights changed before all tables were there"),
    KeptSeed(
      depth: .full, seed: 2193,
      found: "a checker missed that an edit is equal to one which was overruled at once"),
    KeptSeed(
      depth: .full, seed: 83_193,
      found: "a checker missed that an edit came, and was let go of, after the office had ended"),
    KeptSeed(
      depth: .full, seed: 411_942, with: [.rights, .office],
      found: "a checker missed that a leaf parks what others took back, as its value is taken"),
    KeptSeed(
      depth: .full, seed: 411_483, with: [.rights, .office],
      found: "an author made an edit again that it had lost the right to make, and logged it so"),
    KeptSeed(
      depth: .full, seed: 412_741, with: [.rights, .office],
      found: "the same, and the anchor accepted the edit"),
    KeptSeed(
      depth: .full, seed: 412_345, with: [.rights, .office],
      found: "an anchor did not judge what an author had taken back and somebody else had"),
    KeptSeed(
      depth: .full, seed: 431_681, with: [.rights, .office],
      found: "an anchor never judged what an author had begun to send that may write no more"),
    KeptSeed(
      depth: .full, seed: 440_485, with: [.rights, .office],
      found: "the same, where the author was lost for good"),
    KeptSeed(
      depth: .pure, seed: 917_174, with: [.office, .death, .slices],
      found: "a checker took an edit that was made again for another one than was seen"),
    KeptSeed(
      depth: .pure, seed: 920_080, with: [.office, .death, .slices],
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 450_600, with: [.rights, .office],
      found: "a checker missed what was made, and taken back by a process that had died over it"),
    KeptSeed(
      depth: .full, seed: 452_933, with: [.rights, .office],
      found: "a checker missed what was folded over a leaf's edit when its author's rights change"),
    KeptSeed(
      depth: .full, seed: 92_402,
      found: "of two that said the same the earlier time counted, and a delete in between won"),
    KeptSeed(
      depth: .pure, seed: 928_275, with: [.office, .death, .slices],
      found: "a checker took an edit that was made again, at a later time, for another one"),
    KeptSeed(
      depth: .full, seed: 114_938,
      found: "a checker noted what an edit was made over after the rights had changed"),
    KeptSeed(
      depth: .full, seed: 94_831,
      found: "a checker missed that an edit lost elsewhere before the first anchor was heard of"),
    KeptSeed(
      depth: .full, seed: 114_841,
      found: "a checker took what was judged while not all tables were there as one look"),
    KeptSeed(
      depth: .full, seed: 109_426,
      found: "a row that had given way while it waited to be put back stayed on the shelf"),
    KeptSeed(
      depth: .full, seed: 7_701_772,
      found: "a checker forgot a delete while one table was missing, and another was lost with it"),
    KeptSeed(
      depth: .full, seed: 804_438, with: [.office, .siteTime], without: [.collection],
      found: "a checker took an edit over an anchor's word, of the same moment, for too early"),
    KeptSeed(
      depth: .full, seed: 804_738, with: [.office, .siteTime], without: [.collection],
      found: "the same, where the earlier edit had counted on from many"),
    KeptSeed(
      depth: .full, seed: 803_098, with: [.office, .siteTime], without: [.collection],
      found: "a checker did not know when a store worked that died while it tracked a table"),
    KeptSeed(
      depth: .full, seed: 805_091, with: [.office, .siteTime], without: [.collection],
      found: "a node that could not follow an appointment lost the time, and was kept from all"),
    KeptSeed(
      depth: .full, seed: 1_124, with: [.office, .siteTime],
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 1_612, with: [.office, .siteTime],
      found: "after a kill a checker held times to more than what is kept of clocks"),
    KeptSeed(
      depth: .full, seed: 3_895, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "a checker did not know that a row still stood in a table that had another name"),
    KeptSeed(
      depth: .full, seed: 620_431, with: [.collection, .office],
      found: "who took office by force in a long exchange certified a part of a transaction"),
    KeptSeed(
      depth: .full, seed: 620_040, with: [.collection, .office],
      found: "what was made over the last words of an office that had ended lost to the next one"),
    KeptSeed(
      depth: .full, seed: 12, with: [.collection, .restore, .absence], without: [.office],
      steps: 250, found: "a checker looked for an edit under the new life of its author alone"),
    KeptSeed(
      depth: .full, seed: 69, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "the simulator never let go of rows with a former key"),
    KeptSeed(
      depth: .full, seed: 710_650, with: [.unique, .swap, .crash, .diskFull],
      found: "a deleted row came back where two migrations of its key were made at once"),
    KeptSeed(
      depth: .full, seed: 105, with: [.collection, .restore, .absence, .clone], steps: 163,
      found: "who fetched everything anew waited for ever for a member that held nothing"),
    KeptSeed(
      depth: .full, seed: 20_780, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "what went with a table counted as seen by who wrote in the one made again"),
    KeptSeed(
      depth: .full, seed: 21_535, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 791, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "the same"),
    KeptSeed(
      depth: .full, seed: 21_776, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "a checker did not note what was folded just before power was cut"),
    KeptSeed(
      depth: .full, seed: 24_230, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "a row made under a new key lost to what it was under the former one"),
    KeptSeed(
      depth: .full, seed: 760, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "after a kill a row was dated by what was written under its former key"),
    KeptSeed(
      depth: .full, seed: 602_770, with: [.collection, .office], without: [.interruption],
      steps: 29, isDrawn: true,
      found: "a checker did not know an edit that was made again as the one that was rejected"),
    KeptSeed(
      depth: .pure, seed: 3_801, with: [.collection, .absence, .restore, .clone], steps: 250,
      found: "who was copied could not hold a cut that it had acknowledged before"),
    KeptSeed(
      depth: .full, seed: 1_027,
      found: "a parked edit was not made again when an office had ended"),
    KeptSeed(
      depth: .full, seed: 20_001_623, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "a row waited for a place that a program had left"),
    KeptSeed(
      depth: .full, seed: 20_020_139, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "a row that was deleted between two migrations of its key stayed on a shelf"),
    KeptSeed(
      depth: .full, seed: 690_282, with: [.collection, .office], steps: 8, isDrawn: true,
      found: "programs wrote faster than was folded for so long that looking took for ever"),
    KeptSeed(
      depth: .full, seed: 1_868, with: [.office, .clone],
      found: "a new life took back that it had left the office, so its successor waited for ever"),
    KeptSeed(
      depth: .full, seed: 336, with: [.office, .clone],
      found: "what two anchors had certified at once stayed on a shelf under a third one"),
    KeptSeed(
      depth: .full, seed: 1_206, with: [.office, .clone],
      found: "a checker took the times of an edit for those of another one under its number"),
    KeptSeed(
      depth: .full, seed: 1_510, with: [.office, .clone],
      found: "a checker did not know that a copy that was off had been in office as well"),
    KeptSeed(
      depth: .full, seed: 25_895, with: [.migration, .removal], steps: 300, isDrawn: true,
      found: "a row that came and went in a table made again was deleted everywhere"),
  ]
}
