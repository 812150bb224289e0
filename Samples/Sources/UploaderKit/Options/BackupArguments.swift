import ArgumentParser
import LFSBackup

/// Groups as they are written on the command line: `include:PATH,exclude:PATH`.
struct GroupsArgument: ExpressibleByArgument, Sendable {
    let groups: [BackupGroup]

    static let form = "include:PATH,exclude:PATH"

    /// A comma within a path is one, unless a mode and a colon follow it.
    init?(argument: String) {
        var parts: [String] = []
        for part in argument.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            if Self.group(part) == nil, let last = parts.popLast() {
                parts.append(last + "," + part)
            } else {
                parts.append(part)
            }
        }
        let groups = parts.map(Self.group)
        guard !groups.contains(nil) else { return nil }
        self.groups = groups.compactMap(\.self)
    }

    private static func group(_ text: String) -> BackupGroup? {
        for mode in BackupGroup.Mode.allCases where text.hasPrefix("\(mode.rawValue):") {
            let path = String(text.dropFirst(mode.rawValue.count + 1))
            // An unset variable of a shell must not mean the folder that one happens to be in.
            return path.isEmpty ? nil : BackupGroup(path, mode)
        }
        return nil
    }

    static func text(_ groups: [BackupGroup]) -> String {
        groups.map { "\($0.mode.rawValue):\($0.id)" }.joined(separator: ",")
    }
}

/// Conditions as they are written on the command line: `unmetered,mains`, or `always`.
struct ConditionsArgument: ExpressibleByArgument, Sendable {
    let conditions: UploadConditions

    private static let names: [String: UploadConditions] = ["unmetered": .unmetered, "mains": .mains, "always": []]

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map { Self.names[String($0)] }
        guard !parts.contains(nil) else { return nil }
        conditions = parts.compactMap(\.self).reduce(into: []) { $0.formUnion($1) }
    }
}

/// A delay: `0`, or a time up to a day as `90s`, `10m`, `2h`.
struct DelayArgument: ExpressibleByArgument, Sendable {
    let duration: Duration

    init?(argument: String) {
        if argument == "0" {
            duration = .zero
            return
        }
        guard let time = TimeSpan(argument: argument)?.duration, time <= BackupOptions.longestDelay else { return nil }
        duration = time
    }

    static func text(_ duration: Duration) -> String {
        let milliseconds = duration / .milliseconds(1)
        for (unit, size) in [("h", 3_600_000.0), ("m", 60_000.0), ("s", 1_000.0)] where milliseconds > 0 {
            if milliseconds.truncatingRemainder(dividingBy: size) == 0 { return "\(Int(milliseconds / size))\(unit)" }
        }
        return milliseconds == 0 ? "0" : "\(milliseconds / 1_000)s"
    }
}
