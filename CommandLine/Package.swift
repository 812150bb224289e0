// swift-tools-version: 6.2
import PackageDescription

/// The code that the command line programs share. It is a separate package, because an app needs neither a parser of
/// command lines nor one of YAML.
let package = Package(
    name: "CommandLine",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "CommandLineOptions", targets: ["CommandLineOptions"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        .target(
            name: "CommandLineOptions",
            dependencies: [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ])
    ])
