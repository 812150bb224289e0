import Foundation
import Testing

/// Apple's categories of interfaces that need a declared reason, and the reasons that exist for them.
///
/// Source: https://developer.apple.com/documentation/bundleresources/describing-use-of-required-reason-api
private enum Category: String, CaseIterable {
    case fileTimestamp = "NSPrivacyAccessedAPICategoryFileTimestamp"
    case diskSpace = "NSPrivacyAccessedAPICategoryDiskSpace"
    case systemBootTime = "NSPrivacyAccessedAPICategorySystemBootTime"
    case userDefaults = "NSPrivacyAccessedAPICategoryUserDefaults"

    var reasons: Set<String> {
        switch self {
        case .fileTimestamp: ["DDA9.1", "C617.1", "3B52.1", "0A2A.1"]
        case .diskSpace: ["85F4.1", "E174.1", "7D9E.1", "B728.1"]
        case .systemBootTime: ["35F9.1", "8FFB.1", "3D61.1"]
        case .userDefaults: ["CA92.1", "1C8F.1", "C56D.1", "AC6B.1"]
        }
    }

    /// True if code calls an interface of the category. `stat()` without arguments is the initializer of the structure.
    func isUsed(in code: String) -> Bool {
        switch self {
        case .fileTimestamp:
            code.contains(/\b(fstat|lstat|fstatat|f?getattrlist|getattrlistbulk)\(|\bstat\([^)]/)
                || code.contains(/\b(creationDateKey|contentModificationDateKey|fileModificationDate)\b/)
        case .diskSpace:
            code.contains(/\bf?stat(v)?fs\([^)]/) || code.contains(/\bvolume(Available|Total)Capacity\w*/)
                || code.contains(/\bsystem(FreeSize|Size)\b/)
        case .systemBootTime: code.contains(/\b(systemUptime|mach_absolute_time)\b/)
        case .userDefaults: code.contains(/\bUserDefaults\b/)
        }
    }
}

private struct Manifest: Decodable {
    struct Access: Decodable {
        let category: String
        let reasons: [String]

        enum CodingKeys: String, CodingKey {
            case category = "NSPrivacyAccessedAPIType"
            case reasons = "NSPrivacyAccessedAPITypeReasons"
        }
    }

    let isTracking: Bool
    let trackingDomains: [String]
    let collected: [[String: String]]
    let accesses: [Access]

    enum CodingKeys: String, CodingKey {
        case isTracking = "NSPrivacyTracking"
        case trackingDomains = "NSPrivacyTrackingDomains"
        case collected = "NSPrivacyCollectedDataTypes"
        case accesses = "NSPrivacyAccessedAPITypes"
    }
}

@Suite("Privacy manifests", .timeLimit(.minutes(10)))
struct PrivacyManifestTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folders of the package's targets.
    private static func targets() throws -> [URL] {
        try folders(in: root.appendingPathComponent("Sources")).flatMap(folders)
    }

    private static func folders(in folder: URL) throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter(\.hasDirectoryPath)
    }

    /// Returns the code of a target without comments and without texts.
    private static func code(of target: URL) throws -> String {
        let files = FileManager.default.enumerator(at: target, includingPropertiesForKeys: nil)
        let sources = (files?.compactMap { $0 as? URL } ?? []).filter { $0.pathExtension == "swift" }
        let lines = try sources.flatMap { try String(contentsOf: $0, encoding: .utf8).split(separator: "\n") }
        return lines.map { $0.replacing(/"[^"]*"/, with: "").replacing(/\/\/.*/, with: "") }.joined(separator: "\n")
    }

    private static func manifest(of target: URL) throws -> Manifest? {
        let file = target.appendingPathComponent("PrivacyInfo.xcprivacy")
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        return try PropertyListDecoder().decode(Manifest.self, from: Data(contentsOf: file))
    }

    @Test("Each target declares the categories that its code uses, with existing reasons")
    func categories() throws {
        var declaring = 0
        for target in try Self.targets() {
            let code = try Self.code(of: target)
            let manifest = try Self.manifest(of: target)
            let used = Category.allCases.filter { $0.isUsed(in: code) }
            let declared = manifest?.accesses ?? []
            let name = target.lastPathComponent
            #expect(Set(declared.map(\.category)) == Set(used.map(\.rawValue)), "\(name)")
            for access in declared {
                let category = try #require(Category(rawValue: access.category))
                #expect(!access.reasons.isEmpty && category.reasons.isSuperset(of: access.reasons), "\(name)")
            }
            if manifest != nil { declaring += 1 }
        }
        #expect(declaring >= 3)
    }

    @Test("No manifest declares tracking or collected data, and each is a resource")
    func resources() throws {
        let package = try String(contentsOf: Self.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        for target in try Self.targets() {
            guard let manifest = try Self.manifest(of: target) else { continue }
            #expect(!manifest.isTracking && manifest.trackingDomains.isEmpty && manifest.collected.isEmpty)
            let name = target.lastPathComponent
            let entries = package.components(separatedBy: ".target(")
            let entry = try #require(
                entries.first { $0.drop(while: \.isWhitespace).hasPrefix("name: \"\(name)\",") })
            let isResource = entry.contains("resources: [privacyManifest]")
            #expect(isResource, "\(name)")
        }
    }
}
