// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Benchmarks. `lfs-bench` measures the library and compares the uploader with other tools. `whole-way` does the
/// same work in plain C. They need OpenSSL's headers besides what the library needs.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "lfs-bench", targets: ["lfs-bench"]),
        .executable(name: "whole-way", targets: ["whole-way"]),
    ],
    dependencies: [
        .package(name: "LFS", path: ".."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"6.0.0"),
    ],
    targets: [
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
        .executableTarget(
            name: "whole-way", path: "Sources/WholeWay",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra"])],
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("sqlite3"), .linkedLibrary("crypto")]),
    ])

for target in package.targets where target.name != "whole-way" {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
