// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6, and imports that state their access level.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
/// The name that swift-crypto 3 and 4 share. The product builds BoringSSL on Apple platforms too, so only one target
/// depends on it.
let cryptoExtras: Target.Dependency = .product(name: "_CryptoExtras", package: "swift-crypto")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
/// SQLite's C functions, for calls that GRDB does not wrap.
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let serviceLifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"]))
let metrics: Target.Dependency = .product(
    name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"]))
let tracing: Target.Dependency = .product(
    name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"]))
/// The privacy manifest, which Xcode collects from all packages of an app. Other platforms ignore it.
let privacyManifest: Resource = .copy("PrivacyInfo.xcprivacy")

let package = Package(
    name: "LFS",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "LFS", targets: ["LFS"]),
        .library(name: "LFSStorage", targets: ["LFSStorage"]),
        .library(name: "LFSS3", targets: ["LFSS3"]),
        .library(name: "LFSAzure", targets: ["LFSAzure"]),
        .library(name: "LFSWebDAV", targets: ["LFSWebDAV"]),
        .library(name: "LFSSigningServer", targets: ["LFSSigningServer"]),
        .library(name: "LFSSignedURL", targets: ["LFSSignedURL"]),
        .library(name: "LFSCache", targets: ["LFSCache"]),
        .library(name: "LFSBackup", targets: ["LFSBackup"]),
        .library(name: "LFSPhotos", targets: ["LFSPhotos"]),
        .library(name: "LFSBackground", targets: ["LFSBackground"]),
        .library(name: "LFSSync", targets: ["LFSSync"]),
        .library(name: "LFSSyncServer", targets: ["LFSSyncServer"]),
        .library(name: "LFSSettings", targets: ["LFSSettings"]),
        .library(name: "LFSPassphrase", targets: ["LFSPassphrase"]),
        .library(name: "LFSSecretService", targets: ["LFSSecretService"]),
        // Public for its pages about the protocols. Only the package's own server uses its symbols.
        .library(name: "LFSWire", targets: ["LFSWire"]),
        .library(name: "LFSTesting", targets: ["LFSTesting"]),
    ],
    traits: [
        .trait(
            name: "Curl", description: "The HTTP engine on libcurl. An app without network storages switches it off."),
        .trait(name: "ServiceLifecycle", description: "LFSManager is a Service, which ends on graceful shutdown."),
        .trait(name: "Metrics", description: "Counts, durations and the state of the queue, for swift-metrics."),
        .trait(name: "Tracing", description: "Spans around files that come in, go out and come back."),
        .default(enabledTraits: ["Curl"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"6.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        // Those from here on are not resolved for an app that has their traits off.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    // A target depends only on targets above it.
    targets: [
        // Processors' instructions for checksums, which Swift has no name for.
        .target(name: "CChecksum"),
        // Calls of Linux that Swift's modules of the C library lack, also in static programs.
        .target(name: "CLinux"),
        .target(
            name: "LFSSystem", dependencies: ["CChecksum", "CLinux", crypto, logging], resources: [privacyManifest]),
        .target(name: "LFSStorage", dependencies: ["LFSSystem"]),
        .target(name: "LFSFiles", dependencies: ["LFSSystem"]),
        .target(name: "LFSTransfer", dependencies: ["LFSStorage", "LFSSystem"]),
        .target(name: "LFSDatabase", dependencies: ["LFSSystem", grdb, sqlite]),
        .target(
            name: "LFS",
            dependencies: [
                "LFSSystem", "LFSFiles", "LFSTransfer", "LFSStorage", "LFSDatabase", grdb, heap, logging,
                serviceLifecycle, metrics, tracing,
            ]),
        // Thumbnails and other bytes that can be had again.
        .target(name: "LFSCache", dependencies: ["LFSDatabase", "LFSFiles", "LFSSystem", grdb, logging]),
        .target(name: "LFSHTTP", dependencies: ["LFSSystem"]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        // Both arrows depend on the trait: with one left, SwiftPM looks for libcurl for apps that do not need it, and
        // warns.
        .target(
            name: "LFSCurl",
            dependencies: [.target(name: "CCurl", condition: .when(traits: ["Curl"])), "LFSHTTP", "LFSSystem"]),
        // On Linux only its tests are built: Foundation differs there.
        .target(name: "LFSURLSession", dependencies: ["LFSHTTP", "LFSSystem"]),
        .target(
            name: "LFSHTTPStorage",
            dependencies: [
                "LFSHTTP", "LFSStorage", "LFSSystem", crypto, logging,
                .target(name: "LFSURLSession", condition: .when(platforms: [.macOS, .iOS])),
                .target(name: "LFSCurl", condition: .when(platforms: [.macOS, .linux], traits: ["Curl"])),
            ]),
        .target(name: "LFSS3", dependencies: ["LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", crypto]),
        .target(name: "LFSAzure", dependencies: ["LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", crypto]),
        .target(name: "LFSWebDAV", dependencies: ["LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem"]),
        // What an app's devices and its own server say to each other.
        .target(name: "LFSWire"),
        // What that server needs to hand out URLs, for any web framework.
        .target(
            name: "LFSSigningServer",
            dependencies: [
                "LFSWire", "LFSS3", "LFSAzure", "LFSHTTPStorage", "LFSStorage", "LFSSystem", crypto, logging,
            ]),
        .target(
            name: "LFSSignedURL",
            dependencies: ["LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSWire", crypto]),
        .target(
            name: "LFSSync",
            dependencies: [
                "LFSDatabase", "LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSWire", grdb, sqlite,
            ]),
        // What that server needs to share rows between devices, for any web framework and any database.
        .target(name: "LFSSyncServer", dependencies: ["LFSWire", "LFSSystem", crypto, grdb, sqlite, logging]),

        // Typed settings and secrets beside an app's rows.
        .target(
            name: "LFSSettings",
            dependencies: ["LFSDatabase", "LFSFiles", "LFSStorage", "LFSSystem", crypto, grdb, logging],
            resources: [privacyManifest]),
        // Folders, and when their uploads may begin.
        .target(
            name: "LFSBackup", dependencies: ["LFS", "LFSSettings", "LFSDatabase", "LFSSystem", grdb],
            resources: [privacyManifest]),
        // The photo library of iOS and macOS as a source of a backup. An app that refers to Photos has to say why, so
        // other apps must not link it.
        .target(name: "LFSPhotos", dependencies: ["LFSBackup", "LFS", "LFSSystem"]),
        // Uploads that continue while the app does not run.
        .target(
            name: "LFSBackground",
            dependencies: [
                "LFS", "LFSHTTPStorage", "LFSTransfer", "LFSFiles", "LFSDatabase", "LFSStorage", "LFSSystem", logging,
            ]),
        .target(name: "LFSPassphrase", dependencies: ["LFSSettings", "LFSSystem", crypto, cryptoExtras]),
        // libsecret is loaded when it is needed: with a library of the system SwiftPM looks for it for every app that
        // uses this package, and warns.
        .target(name: "CSecret"),
        .target(
            name: "LFSSecretService",
            dependencies: [
                .target(name: "CSecret", condition: .when(platforms: [.linux])), "LFSSettings", "LFSSystem", crypto,
            ]),

        // Conformance suites and named faults, for the tests of an app too.
        .target(
            name: "LFSTesting",
            dependencies: ["LFSBackground", "LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem"]),

        .target(
            name: "TestSupport", dependencies: ["LFSSystem", "LFSStorage", "LFSTransfer", "LFS"],
            path: "Tests/TestSupport"),
        .testTarget(name: "LFSSystemTests", dependencies: ["CChecksum", "CLinux", "LFSSystem", "TestSupport"]),
        .testTarget(
            name: "LFSStorageTests", dependencies: ["LFSStorage", "LFSSystem", "LFSTesting", "TestSupport"]),
        .testTarget(name: "LFSFilesTests", dependencies: ["LFSFiles", "LFSSystem", "TestSupport"]),
        .testTarget(
            name: "LFSTransferTests",
            dependencies: ["LFSTransfer", "LFSStorage", "LFSSystem", "LFSTesting", "TestSupport"]),
        .testTarget(
            name: "LFSTests",
            dependencies: [
                "LFS", "LFSDatabase", "LFSStorage", "LFSTesting", "LFSFiles", "LFSTransfer", "LFSSystem", "TestSupport",
                grdb, logging,
            ]),
        .testTarget(
            name: "LFSCacheTests",
            dependencies: ["LFSCache", "LFSDatabase", "LFSFiles", "LFSSystem", "TestSupport", grdb, logging]),
        .testTarget(name: "LFSHTTPTests", dependencies: ["LFSHTTP"]),
        // The contract of transports, with all engines, and what is special to each of them.
        .testTarget(
            name: "TransportTests",
            dependencies: ["LFSCurl", "LFSURLSession", "LFSHTTP", "LFSSystem", "TestSupport"],
            path: "Tests/HTTP/TransportTests"),
        .testTarget(
            name: "LFSHTTPStorageTests",
            dependencies: ["LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSTesting", "TestSupport"]),
        .testTarget(
            name: "LFSS3Tests",
            dependencies: [
                "LFSS3", "LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSTesting", "LFS", "TestSupport",
                crypto, grdb,
            ]),
        .testTarget(
            name: "LFSAzureTests",
            dependencies: [
                "LFSAzure", "LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSTesting", "TestSupport", crypto,
            ]),
        .testTarget(
            name: "LFSWebDAVTests",
            dependencies: [
                "LFSWebDAV", "LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSTesting", "TestSupport",
            ]),
        .testTarget(name: "LFSWireTests", dependencies: ["LFSWire"]),
        .testTarget(
            name: "LFSSigningServerTests",
            dependencies: [
                "LFSSigningServer", "LFSWire", "LFSS3", "LFSAzure", "LFSHTTPStorage", "LFSHTTP", "LFSStorage",
                "LFSSystem",
                "LFSTesting", "TestSupport", crypto, logging,
            ]),
        .testTarget(
            name: "LFSSignedURLTests",
            dependencies: [
                "LFSSignedURL", "LFSWire", "LFSHTTPStorage", "LFSHTTP", "LFSStorage", "LFSSystem", "LFSTesting", "LFS",
                "TestSupport", crypto, grdb, logging,
            ]),
        .testTarget(
            name: "LFSSyncServerTests",
            dependencies: ["LFSSyncServer", "LFSWire", "LFSSystem", "TestSupport", logging]),
        .testTarget(
            name: "LFSSyncTests",
            dependencies: [
                "LFSSync", "LFSSyncServer", "LFS", "LFSDatabase", "LFSStorage", "LFSS3", "LFSTesting", "LFSWire",
                "LFSHTTPStorage", "LFSHTTP", "LFSSystem", "TestSupport", grdb, logging,
            ]),
        // One process of several in the tests of settings. No product needs it.
        .executableTarget(
            name: "settings-helper",
            dependencies: ["LFSSettings", "LFSSecretService", "LFSStorage", "LFSSystem", "TestSupport", grdb],
            path: "Tests/Settings/SettingsHelper"),
        .testTarget(
            name: "LFSSettingsTests",
            dependencies: [
                "LFSSettings", "LFSPassphrase", "LFSSecretService", "LFSDatabase", "LFSHTTP", "LFSS3",
                "LFSSignedURL", "LFSStorage", "LFSSystem", "LFSTesting", "TestSupport", "settings-helper", crypto, grdb,
                logging,
            ],
            exclude: ["envelope.py"]),
        .testTarget(
            name: "LFSBackupTests",
            dependencies: [
                "LFSBackup", "LFSPhotos", "LFSSettings", "LFS", "LFSDatabase", "LFSStorage", "LFSTesting", "LFSSystem",
                "TestSupport",
                grdb,
            ]),
        .testTarget(
            name: "LFSBackgroundTests",
            dependencies: [
                "LFSBackground", "LFS", "LFSHTTPStorage", "LFSHTTP", "LFSSignedURL", "LFSSigningServer", "LFSWire",
                "LFSStorage", "LFSSystem", "LFSTesting", "TestSupport", grdb,
            ]),
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "LFS", "LFSS3", "LFSSigningServer", "LFSStorage", "LFSSync", "LFSSyncServer", "LFSSettings",
                "LFSPassphrase",
                "LFSSecretService", "LFSSignedURL", "LFSBackup", "LFSPhotos", "LFSBackground", "LFSCache", "LFSTesting",
                grdb, crypto,
            ]),
    ])

/// The folders of `Sources`, which show the families of products. Those of `Tests` mirror them. A target that is not
/// listed here has no folder.
let families = [
    "Core": ["CChecksum", "CLinux", "LFSSystem", "LFSStorage", "LFSFiles", "LFSTransfer", "LFSDatabase", "LFS"],
    "HTTP": ["LFSHTTP", "CCurl", "LFSCurl", "LFSURLSession", "LFSHTTPStorage"],
    "Storages": ["LFSS3", "LFSAzure", "LFSWebDAV", "LFSSignedURL"],
    "Sync": ["LFSWire", "LFSSync"],
    "Server": ["LFSSigningServer", "LFSSyncServer"],
    "Settings": ["LFSSettings", "LFSPassphrase", "LFSSecretService", "CSecret"],
    "More": ["LFSCache", "LFSBackup", "LFSPhotos", "LFSBackground", "LFSTesting"],
]
for (family, names) in families {
    for target in package.targets {
        if names.contains(target.name) {
            target.path = "Sources/\(family)/\(target.name)"
        } else if target.type == .test, names.contains(String(target.name.dropLast("Tests".count))) {
            target.path = "Tests/\(family)/\(target.name)"
        }
    }
}

let targetsInC = ["CChecksum", "CLinux", "CSecret"]
for target in package.targets where target.type != .system && !targetsInC.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
