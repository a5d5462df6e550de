/// Four words that two people can compare, each for one byte.
enum PlainWords {
  static func of(_ bytes: [UInt8]) -> String {
    bytes.map { list[Int($0)] }.joined(separator: " ")
  }

  /// 256 short words of which no two begin alike in their first four letters.
  static let list: [String] = """
    acorn actor album alley amber anchor angle ankle apple april apron arch arrow aspen atlas
    autumn axle badge bagel bamboo banjo barn basil basket beach beaver bench berry bishop
    blanket blossom boat bonnet bottle branch bread bridge brook brush bucket bugle butter cabin
    cactus camel candle canoe canyon carpet castle cedar cello chalk cherry chess cider cinema
    circle citrus clay cliff clock cloud clover cobalt coffee comet compass copper coral cotton
    cradle crane cricket crow crystal cypress dagger daisy dance dawn delta desert diamond
    dinner dolphin donkey dragon drum eagle earth echo elbow elder ember engine ermine evening
    falcon feather fennel ferry fiddle finch flame flint flute forest fossil fountain fox frost
    galaxy garden garlic ginger glacier glove goblet goose granite grape gravel guitar hammer
    harbour hazel heron hickory hill honey horizon hunter indigo island ivory jacket jade
    jasmine jelly jewel jigsaw juniper kayak kernel kettle kitten knight koala ladder lagoon
    lantern lark lava lemon lentil lilac linen lion lizard lotus lumber magnet mango maple
    marble meadow melon meteor mill mint mirror mitten monkey moon mosaic moth mustard napkin
    nectar needle nest nettle night nutmeg oasis ocean olive onion opal orange orchid otter oven
    oyster paddle palm panda paper parrot pastel peach pearl pebble pelican pencil pepper piano
    pigeon pillow pine planet plum pocket polar pond poppy potato prairie puzzle quail quartz
    quill rabbit radish raven ribbon river robin rocket rose ruby saddle saffron salmon sandal
    satin seven shadow shell silver spruce summer swan thunder tiger tulip turtle velvet violet
    walnut willow winter yellow zebra zinc
    """.split(whereSeparator: \.isWhitespace).map(String.init)
}
