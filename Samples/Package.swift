// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// What people run: it uses the public products only, as any app would.
let package = Package(
    name: "Samples",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "uploader", targets: ["uploader"]),
        .executable(name: "lfs-bench", targets: ["lfs-bench"]),
    ],
    dependencies: [
        // With all traits, for their tests are here: the library's own show that it needs none of them.
        .package(name: "LFS", path: "..", traits: [.defaults, "ServiceLifecycle", "Metrics", "Tracing"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"6.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        .executableTarget(
            name: "uploader",
            dependencies: [
                "UploaderKit", .product(name: "LFSStorage", package: "LFS"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "UploaderKit",
            dependencies: [
                "CZlib",
                .product(name: "LFS", package: "LFS"),
                .product(name: "LFSStorage", package: "LFS"),
                .product(name: "LFSS3", package: "LFS"),
                .product(name: "LFSAzure", package: "LFS"),
                .product(name: "LFSWebDAV", package: "LFS"),
                .product(name: "LFSSignedURL", package: "LFS"),
                .product(name: "LFSSync", package: "LFS"),
                .product(name: "LFSBackup", package: "LFS"),
                .product(name: "LFSSettings", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "UploaderTests",
            dependencies: [
                "UploaderKit", "uploader", .product(name: "LFS", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),

        // What the library tells of itself, and how a service group ends it.
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "signalled-service",
                .product(name: "LFS", package: "LFS"),
                .product(name: "LFSStorage", package: "LFS"),
                .product(name: "LFSTesting", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ]),
        .executableTarget(
            name: "signalled-service",
            dependencies: [
                .product(name: "LFS", package: "LFS"),
                .product(name: "LFSStorage", package: "LFS"),
                .product(name: "LFSTesting", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Tests/SignalledService"),

        // It runs the uploader as it runs every other tool. What an app itself would feel it measures in a process of
        // its own that is such an app.
        .executableTarget(
            name: "lfs-bench",
            dependencies: ["BenchKit", .product(name: "ArgumentParser", package: "swift-argument-parser")]),
        .target(
            name: "BenchKit",
            dependencies: [
                .product(name: "LFS", package: "LFS"),
                .product(name: "LFSStorage", package: "LFS"),
                .product(name: "LFSS3", package: "LFS"),
                .product(name: "LFSSync", package: "LFS"),
                .product(name: "LFSSyncServer", package: "LFS"),
                .product(name: "LFSSettings", package: "LFS"),
                .product(name: "LFSCache", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        .testTarget(
            name: "BenchTests",
            dependencies: ["BenchKit", "lfs-bench", .product(name: "GRDB", package: "GRDB.swift")]),
    ])

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
