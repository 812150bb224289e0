// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    // Without MemberImportVisibility: C modules of SwiftNIO include the system's headers, too. The order in which the
    // compiler loads modules decides whether it takes the fields of the system's structures for theirs.
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let signing: Target.Dependency = .product(name: "LFSSigningServer", package: "LFS")
let sync: Target.Dependency = .product(name: "LFSSyncServer", package: "LFS")
let wire: Target.Dependency = .product(name: "LFSWire", package: "LFS")
let storage: Target.Dependency = .product(name: "LFSStorage", package: "LFS")
let s3: Target.Dependency = .product(name: "LFSS3", package: "LFS")
let azure: Target.Dependency = .product(name: "LFSAzure", package: "LFS")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let jwt: Target.Dependency = .product(name: "JWTKit", package: "jwt-kit")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")

/// The server for an app's devices. It is a separate package, because an app on a device needs no web framework.
let package = Package(
    name: "Server",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "LFSServer", targets: ["LFSServer"]),
        .library(name: "LFSServerJWT", targets: ["LFSServerJWT"]),
        .library(name: "LFSServerPostgres", targets: ["LFSServerPostgres"]),
        .library(name: "MetricsText", targets: ["MetricsText"]),
        .executable(name: "lfs-server", targets: ["lfs-server"]),
    ],
    dependencies: [
        .package(name: "LFS", path: "..", traits: [.defaults]),
        .package(name: "CommandLine", path: "../CommandLine"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"6.0.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    ],
    targets: [
        .target(name: "MetricsText", dependencies: [.product(name: "CoreMetrics", package: "swift-metrics")]),
        // The routes, for any server on Hummingbird.
        .target(
            name: "LFSServer",
            dependencies: [
                "CZlib", signing, sync, hummingbird, httpTypes, nioCore, nioHTTPTypes, logging, lifecycle,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        // Authentication with tokens of the host's identity provider.
        .target(name: "LFSServerJWT", dependencies: ["LFSServer", hummingbird, logging, jwt]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
        .systemLibrary(
            name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
        // The sync database for several servers.
        .target(name: "LFSServerPostgres", dependencies: ["CPostgres", sync]),
        .executableTarget(
            name: "lfs-server",
            dependencies: [
                "LFSServer", "LFSServerJWT", "LFSServerPostgres", "MetricsText", signing, sync, storage, s3, azure,
                hummingbird, httpTypes, nioCore, logging,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandLineOptions", package: "CommandLine"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                lifecycle,
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "LFSServerTests",
            dependencies: [
                "LFSServer", "LFSServerJWT", "LFSServerPostgres", "MetricsText", "lfs-server", signing, sync,
                hummingbird, httpTypes, nioCore, logging, storage, s3,
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CommandLineOptions", package: "CommandLine"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                lifecycle,
            ]),
        // The folder Cases is a link to the cases that the library runs on SQLite.
        .testTarget(
            name: "LFSServerPostgresTests", dependencies: ["LFSServerPostgres", sync, wire, logging],
            exclude: ["Cases/SQLite"]),
    ])

for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + settings
}
