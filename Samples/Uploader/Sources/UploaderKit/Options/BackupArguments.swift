import ArgumentParser
import CommandLineOptions
import Foundation
import LFSBackup

/// Groups on the command line: `include:PATH,exclude:PATH`.
struct GroupsArgument: ExpressibleByArgument, Sendable {
    let groups: [BackupGroup]
    /// The exact paths of groups whose paths are not valid text and therefore not exact in their ids.
    let names: [BackupGroup.ID: AssetName]

    static let form = "include:PATH,exclude:PATH"

    /// Parses groups. A comma is part of a path, unless a mode and a colon follow.
    init?(argument: String) {
        let comma = UInt8(ascii: ",")
        var parts: [[UInt8]] = []
        for part in FilePath(argument: argument).bytes.split(separator: comma, omittingEmptySubsequences: false) {
            if Self.group(part) == nil, let last = parts.popLast() {
                parts.append(last + [comma] + part)
            } else {
                parts.append(Array(part))
            }
        }
        let groups = parts.map { Self.group($0[...]) }
        guard !groups.contains(where: { $0 == nil }) else { return nil }
        let paths = groups.compactMap { $0?.path }
        self.groups = groups.compactMap { $0.map { BackupGroup($0.path.id, mode: $0.mode) } }
        names = Dictionary(
            paths.filter { $0.text == nil }.map { ($0.id, AssetName(bytes: $0.bytes)) }, uniquingKeysWith: { $1 })
    }

    private static func group(_ part: ArraySlice<UInt8>) -> (path: FilePath, mode: BackupGroup.Mode)? {
        for mode in BackupGroup.Mode.allCases where part.starts(with: "\(mode.rawValue):".utf8) {
            let path = part.dropFirst(mode.rawValue.utf8.count + 1)
            // An unset shell variable must not select the current folder.
            return path.isEmpty ? nil : (FilePath(bytes: atHome(path)), mode)
        }
        return nil
    }

    /// Returns the path with the home folder in place of a tilde, which a shell does not expand after a colon.
    private static func atHome(_ path: ArraySlice<UInt8>) -> [UInt8] {
        guard path.elementsEqual("~".utf8) || path.starts(with: "~/".utf8) else { return Array(path) }
        let home = ProcessInfo.processInfo.environment["HOME"].flatMap { $0.isEmpty ? nil : $0 }
        return Array((home ?? FileManager.default.homeDirectoryForCurrentUser.path).utf8) + path.dropFirst()
    }

    static func text(_ groups: [BackupGroup]) -> String {
        groups.map { "\($0.mode.rawValue):\($0.id)" }.joined(separator: ",")
    }
}

extension FilePath {
    /// The id of the path's group: the text, or the printed form if the path is not valid text.
    fileprivate var id: BackupGroup.ID { text ?? description }
}

/// Conditions on the command line: `unmetered,mains`, or `always`.
struct ConditionsArgument: ExpressibleByArgument, Sendable {
    let conditions: UploadConditions

    private static let names: [String: UploadConditions] = ["unmetered": .unmetered, "mains": .mains, "always": []]

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map { Self.names[String($0)] }
        guard !parts.contains(nil) else { return nil }
        conditions = parts.compactMap(\.self).reduce(into: []) { $0.formUnion($1) }
    }
}

/// A delay on the command line: `0`, or a time up to a day such as `90s`, `10m`, `2h`.
enum DelayArgument {
    /// - Throws: `ValidationError` for anything else.
    @Sendable static func parse(_ text: String) throws -> Duration {
        guard let delay = try TimeSpan.parseFinite(text).duration, delay <= BackupOptions.longestDelay else {
            throw ValidationError("'\(Printable.text(text))' is longer than a day. Give a time from 0 to 24h.")
        }
        return delay
    }

    static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        for (unit, size) in [("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)] where milliseconds > 0 {
            if milliseconds.truncatingRemainder(dividingBy: size) == 0 { return "\(Int(milliseconds / size))\(unit)" }
        }
        return milliseconds == 0 ? "0" : "\(milliseconds / 1_000)s"
    }
}
