// swift-tools-version: 6.2
import PackageDescription

/// What the library is measured against and what needs more than the library does: SQLite and OpenSSL with their
/// headers. It is a package of its own so that nobody builds it who does not measure.
let package = Package(
    name: "Benchmarks",
    products: [.executable(name: "whole-way", targets: ["whole-way"])],
    targets: [
        .executableTarget(
            name: "whole-way", path: "Sources/WholeWay",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra"])],
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("sqlite3"), .linkedLibrary("crypto")])
    ])
