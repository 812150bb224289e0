// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The command line program. It uses only public products, as any app does.
let package = Package(
    name: "Uploader",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "uploader", targets: ["uploader"])
    ],
    dependencies: [
        .package(name: "LFS", path: "../.."),
        .package(name: "CommandLine", path: "../../CommandLine"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"6.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
    ],
    targets: [
        .executableTarget(
            name: "uploader",
            dependencies: ["UploaderKit", .product(name: "LFSStorage", package: "LFS")]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .target(
            name: "UploaderKit",
            dependencies: [
                "CZlib",
                .product(name: "CommandLineOptions", package: "CommandLine"),
                .product(name: "LFS", package: "LFS"),
                .product(name: "LFSStorage", package: "LFS"),
                .product(name: "LFSS3", package: "LFS"),
                .product(name: "LFSAzure", package: "LFS"),
                .product(name: "LFSWebDAV", package: "LFS"),
                .product(name: "LFSSignedURL", package: "LFS"),
                .product(name: "LFSSync", package: "LFS"),
                .product(name: "LFSBackup", package: "LFS"),
                .product(name: "LFSSettings", package: "LFS"),
                .product(name: "LFSPassphrase", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "UploaderTests",
            dependencies: [
                "UploaderKit", "uploader",
                .product(name: "CommandLineOptions", package: "CommandLine"),
                .product(name: "LFS", package: "LFS"),
                .product(name: "LFSBackup", package: "LFS"),
                .product(name: "LFSSettings", package: "LFS"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
    ])

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
