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
let lfsSettings: Target.Dependency = .product(name: "LFSSettings", package: "LFS")
let lfsStorage: Target.Dependency = .product(name: "LFSStorage", package: "LFS")
let lfsSync: Target.Dependency = .product(name: "LFSSync", package: "LFS")
let lfsBackup: Target.Dependency = .product(name: "LFSBackup", package: "LFS")
let lfsCache: Target.Dependency = .product(name: "LFSCache", package: "LFS")
let lfsServer: Target.Dependency = .product(name: "LFSServer", package: "Server")
// The named faults of a demonstration.
let lfsTesting: Target.Dependency = .product(name: "LFSTesting", package: "LFS")
let metricsText: Target.Dependency = .product(name: "MetricsText", package: "Server")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")

/// A journal of time and pictures: an app on the library's public products only.
let package = Package(
    name: "Journal",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "JournalStorage", targets: ["JournalStorage"]),
        .library(name: "JournalWeb", targets: ["JournalWeb"]),
        .executable(name: "journal", targets: ["journal"]),
    ],
    dependencies: [
        .package(name: "LFS", path: "../..", traits: [.defaults, "ServiceLifecycle", "Metrics"]),
        .package(name: "Server", path: "../../Server"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"6.0.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        .target(
            name: "JournalStorage",
            dependencies: [
                lfs, lfsBackup, lfsSettings, lfsSync, grdb, .product(name: "Crypto", package: "swift-crypto"),
            ]),
        .systemLibrary(name: "CDeflate", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "JournalWeb",
            dependencies: [
                "CDeflate", "JournalStorage", lfs, lfsBackup, lfsCache, lfsServer, lfsSettings, lfsStorage, lfsSync,
                lfsTesting,
                grdb,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("Templates"), .embedInCode("Assets")]),
        .executableTarget(
            name: "journal",
            dependencies: [
                "CDeflate", "JournalStorage", "JournalWeb", metricsText, lfsServer,
                .product(name: "CoreMetrics", package: "swift-metrics"),
                lfs, lfsBackup, lfsCache, lfsSettings, lfsStorage, lfsSync, .product(name: "LFSS3", package: "LFS"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),

        // What the process does that the kill tests kill, and the tests foretell.
        .target(name: "WriterScript", dependencies: ["JournalStorage"], path: "Tests/WriterScript"),
        .executableTarget(
            name: "journal-writer", dependencies: ["JournalStorage", "WriterScript", lfs, lfsStorage],
            path: "Tests/Writer"),
        .testTarget(
            name: "JournalTests",
            dependencies: [
                "JournalStorage", "WriterScript", "journal", "journal-writer", lfs, lfsStorage, lfsSync,
                .product(name: "LFSTesting", package: "LFS"), grdb,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "JournalWebTests",
            dependencies: [
                "JournalStorage", "JournalWeb", "journal", lfs, lfsBackup, lfsCache, lfsSettings,
                lfsStorage, lfsSync,
                .product(name: "LFSSyncServer", package: "LFS"), lfsServer,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "LFSTesting", package: "LFS"), grdb,
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
    ])

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
