// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The tests of the library's traits for services. A package of its own: the library's tests run without these traits.
let package = Package(
    name: "Telemetry",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "LFS", path: "../..", traits: [.defaults, "ServiceLifecycle", "Metrics", "Tracing"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
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
            ]),
    ])

for target in package.targets {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
