// swift-tools-version: 6.2
// An app project for Xcode and Swift Playground. Open the folder Notes.swiftpm.
import AppleProductTypes
import PackageDescription

let package = Package(
    name: "Notes",
    platforms: [.iOS("18.0")],
    products: [
        .iOSApplication(
            name: "Notes", targets: ["Notes"], bundleIdentifier: "example.lfs.notes", displayVersion: "0.1",
            bundleVersion: "1", supportedDeviceFamilies: [.phone, .pad],
            supportedInterfaceOrientations: [.portrait, .landscapeLeft, .landscapeRight])
    ],
    dependencies: [
        .package(name: "LFS", path: "../../../.."),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "Notes",
            dependencies: [
                .product(name: "LFS", package: "LFS"), .product(name: "LFSBackground", package: "LFS"),
                .product(name: "LFSSettings", package: "LFS"), .product(name: "LFSSignedURL", package: "LFS"),
                .product(name: "LFSStorage", package: "LFS"), .product(name: "LFSSync", package: "LFS"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: ".", swiftSettings: [.swiftLanguageMode(.v6)])
    ])
