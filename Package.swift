// swift-tools-version: 6.2
import PackageDescription

/// One set of settings for every target: Swift 6 mode, warnings are errors.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// Tests need no optimiser of their own: what they test has been through it. Nor are they read
/// twice, first for what others may import: a fifth of the time that it took to compile them.
let tests: [SwiftSetting] =
  strict + [
    .unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"], .when(configuration: .release))
  ]

/// Where no row passes by, a small program is worth more than a fast one; functions of `Store` that
/// each row passes are marked `@_optimize(speed)`. Packages that use the library take no flags like
/// these, so only what is installed is built so (Makefile). Tests look for two accesses at once to
/// one variable; what is installed does not look again.
let installed: [SwiftSetting] =
  Context.environment["FLOTILLA_SMALL"] == nil
  ? strict
  : strict + [.unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release))]
let small: [SwiftSetting] =
  Context.environment["FLOTILLA_SMALL"] == nil
  ? strict : installed + [.unsafeFlags(["-Osize"], .when(configuration: .release))]

/// The readers that fuzzing feeds: tests as a rule, a program of libFuzzer's for `make fuzz`.
///
/// The program of the wire alone is faster: libFuzzer looks at all code after each input.
let fuzzed: [Target.Dependency] = [
  "Flotilla", "Gateway", "Store", "SQLite", "Replication", "Network", "CAvahi",
]
let fuzzing: Target =
  switch Context.environment["FLOTILLA_FUZZ"] {
  case nil: .testTarget(name: "FuzzTests", dependencies: fuzzed, swiftSettings: tests)
  case "wire":
    .executableTarget(
      name: "FlotillaFuzz", dependencies: ["Replication"], path: "Tests/FuzzTests",
      exclude: [
        "AnchorSeeds.swift", "CorpusTests.swift", "FuzzingTests.swift", "NumberSeeds.swift",
        "Seeds.swift", "Targets/Node",
      ],
      swiftSettings: strict + [.define("WIRE")])
  default:
    .executableTarget(
      name: "FlotillaFuzz", dependencies: fuzzed, path: "Tests/FuzzTests",
      exclude: ["CorpusTests.swift", "FuzzingTests.swift"], swiftSettings: strict)
  }

let package = Package(
  name: "flotilla",
  products: [
    .library(name: "Flotilla", targets: ["Flotilla"]),
    .library(name: "FlotillaRows", targets: ["FlotillaRows"]),
    .executable(name: "flotilla", targets: ["FlotillaCommand"]),
    // Preloaded into programs that the crash test kills; never installed.
    .library(name: "CrashShim", type: .dynamic, targets: ["CrashShim"]),
    // Preloaded into programs whose clock a test sets; never installed.
    .library(name: "ClockShim", type: .dynamic, targets: ["ClockShim"]),
  ],
  targets: [
    .systemLibrary(name: "CSQLite"),
    .systemLibrary(name: "CAvahi"),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "COpenSSL"),
    .systemLibrary(name: "CEvent"),
    .systemLibrary(name: "CMariaDB"),
    .systemLibrary(name: "CZstd"),
    .target(name: "Replication", swiftSettings: installed),
    .target(name: "CMemory", dependencies: ["CSQLite"]),
    .target(name: "SQLite", dependencies: ["CSQLite", "CMemory"], swiftSettings: installed),
    .target(name: "Store", dependencies: ["SQLite", "Replication"], swiftSettings: small),
    .target(
      name: "Network", dependencies: ["CAvahi", "CLinux", "COpenSSL", "CZstd"], swiftSettings: small
    ),
    .target(
      name: "Flotilla", dependencies: ["Store", "SQLite", "Replication", "Network", "CLinux"],
      swiftSettings: small),
    .target(name: "FlotillaRows", dependencies: ["Flotilla"], swiftSettings: strict),
    .target(
      name: "Gateway", dependencies: ["Flotilla", "SQLite", "CEvent"],
      resources: [.embedInCode("Page")], swiftSettings: small),
    .target(
      name: "Mirror", dependencies: ["Flotilla", "SQLite", "CMariaDB"], swiftSettings: small),
    .executableTarget(
      name: "FlotillaCommand", dependencies: ["Flotilla", "Gateway", "Mirror"],
      swiftSettings: small),
    .executableTarget(
      name: "FlotillaBench",
      dependencies: ["Flotilla", "Mirror", "Store", "SQLite", "Replication", "Network"],
      swiftSettings: strict),
    .target(
      name: "Simulator", dependencies: ["CSQLite", "Store", "SQLite", "Replication"],
      swiftSettings: strict),
    .executableTarget(
      name: "FlotillaSimulator", dependencies: ["Simulator"], swiftSettings: strict,
      // A fifth more schedules a second: SQLite asks for memory all the time.
      linkerSettings: [.linkedLibrary("jemalloc")]),
    .testTarget(name: "ReplicationTests", dependencies: ["Replication"], swiftSettings: tests),
    .testTarget(name: "SQLiteTests", dependencies: ["SQLite"], swiftSettings: tests),
    .testTarget(
      name: "StoreTests", dependencies: ["Store", "SQLite", "Replication"], swiftSettings: tests),
    .target(name: "PrivateBus", path: "Tests/PrivateBus"),
    .testTarget(
      name: "NetworkTests", dependencies: ["Network", "PrivateBus"], swiftSettings: tests),
    .testTarget(
      name: "FlotillaTests",
      dependencies: ["Flotilla", "Store", "SQLite", "Replication", "Network"],
      swiftSettings: tests),
    .testTarget(
      name: "SimulatorTests", dependencies: ["Simulator", "Store", "SQLite", "Replication"],
      swiftSettings: tests),
    .testTarget(
      name: "CommandTests", dependencies: ["FlotillaCommand", "FlotillaBench", "SQLite"],
      swiftSettings: tests),
    .testTarget(
      name: "LANTests", dependencies: ["FlotillaCommand", "SQLite"], swiftSettings: tests),
    .testTarget(
      name: "GatewayTests",
      dependencies: ["Gateway", "Flotilla", "FlotillaCommand", "Network", "SQLite"],
      swiftSettings: tests),
    .testTarget(
      name: "MirrorTests",
      // The table of merge rules is played by one site, whoever writes for one of its sides.
      dependencies: [
        "Mirror", "Flotilla", "FlotillaCommand", "SQLite", "CMariaDB", "BadInputTests",
      ],
      swiftSettings: tests),
    .target(name: "ClockShim", path: "Tests/ClockShim"),
    .testTarget(
      name: "BadInputTests", dependencies: ["FlotillaCommand", "ClockShim"],
      swiftSettings: tests),
    .target(name: "CrashShim", path: "Tests/CrashShim"),
    .executableTarget(
      name: "CrashRunner", dependencies: ["CrashShim", "Store", "SQLite", "Replication"],
      path: "Tests/CrashRunner", swiftSettings: strict),
    .executableTarget(
      name: "CrashProgram", dependencies: ["Flotilla"], path: "Tests/CrashProgram",
      swiftSettings: strict),
    .testTarget(
      name: "CrashTests", dependencies: ["CrashRunner", "CrashProgram"], swiftSettings: tests),
    .executableTarget(
      name: "CheckList", dependencies: ["Flotilla", "FlotillaRows"], path: "Examples/CheckList",
      swiftSettings: strict),
    .testTarget(
      name: "RowsTests", dependencies: ["CheckList", "Flotilla", "FlotillaRows", "SQLite"],
      swiftSettings: tests),
    .testTarget(name: "TidyTests", swiftSettings: strict),
    fuzzing,
  ]
)
