// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let lfs: Target.Dependency = .product(name: "LFS", package: "LFS")
let lfsStorage: Target.Dependency = .product(name: "LFSStorage", package: "LFS")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

/// A journal of time and pictures: an app on the library's public products only.
let package = Package(
    name: "Journal",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "JournalStorage", targets: ["JournalStorage"]),
        .executable(name: "journal", targets: ["journal"]),
    ],
    dependencies: [
        .package(name: "LFS", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    ],
    targets: [
        .target(name: "JournalStorage", dependencies: [lfs, lfsStorage, grdb]),
        .executableTarget(
            name: "journal",
            dependencies: [
                "JournalStorage", lfs, lfsStorage, .product(name: "LFSS3", package: "LFS"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),

        // What the process does that the kill tests kill, and the tests foretell.
        .target(name: "WriterScript", dependencies: ["JournalStorage"], path: "Tests/WriterScript"),
        .executableTarget(
            name: "journal-writer", dependencies: ["JournalStorage", "WriterScript", lfs, lfsStorage],
            path: "Tests/Writer"),
        .testTarget(
            name: "JournalTests",
            dependencies: [
                "JournalStorage", "WriterScript", "journal", "journal-writer", lfs, lfsStorage,
                .product(name: "LFSTesting", package: "LFS"), grdb,
            ]),
    ])

for target in package.targets {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
