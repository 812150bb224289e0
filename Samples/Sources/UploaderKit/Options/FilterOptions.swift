import ArgumentParser
import Foundation
import LFSBackup

/// Which files of the folders a command takes.
struct FilterOptions: ParsableArguments {
    /// What the help of each command that has them says.
    static let discussion = """
        --include and --exclude take patterns as rclone has them, held against the path
        from the folder on: * and ? stand for anything but a slash, ** for anything, a
        slash at the start for the folder itself, one at the end for all in a folder.
        With an --include nothing else is taken; what both match is taken. Put patterns
        in quotes.
        """

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp("Take only what matches, such as '*.{jpg,heic}'; may be repeated.", valueName: "pattern"),
        transform: Self.pattern)
    var include: [PathPattern] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Leave out what matches, such as 'cache/' or '*.tmp'; may be repeated.", valueName: "pattern"),
        transform: Self.pattern)
    var exclude: [PathPattern] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Take only the paths that this file lists, one a line, from the folder on; - for the standard input. Lines \
            that begin with # or ; are passed over.
            """, valueName: "list"), completion: .file())
    var filesFrom: String?

    @Option(
        name: .customLong("files-from0"),
        help: ArgumentHelp(
            "As --files-from, with a zero byte after each path, as 'find -print0' writes them.", valueName: "list"),
        completion: .file())
    var filesFromZero: String?

    private static func pattern(_ text: String) throws -> PathPattern {
        do { return try PathPattern(text) } catch { throw ValidationError(error.message) }
    }

    /// Reads the list before anything is made; what is wrong with it ends the command.
    func read(json: Bool) throws -> PathFilter {
        var filter = PathFilter()
        try reportingErrors(json: json) { filter = try self.filter() }
        return filter
    }

    func validate() throws {
        guard filesFrom == nil || filesFromZero == nil else {
            throw ValidationError("Give either --files-from or --files-from0.")
        }
    }

    /// - Throws: ``UploaderError`` when the list cannot be read, or lists nothing.
    private func filter() throws -> PathFilter {
        var listed: Set<AssetName>?
        if let filesFrom { listed = try Self.lines(of: filesFrom) }
        if let filesFromZero { listed = try Self.names(of: filesFromZero) }
        return PathFilter(including: include, excluding: exclude, listed: listed)
    }

    /// Source: rclone, "Filtering, includes and excludes", `--files-from`.
    private static func lines(of list: String) throws -> Set<AssetName> {
        let bytes = try bytes(of: list)
        guard !bytes.contains(0) else {
            throw UploaderError("\(list) has zero bytes, as of 'find -print0': give it with --files-from0.")
        }
        return try paths(
            bytes.split(separator: 0x0A).compactMap { line in
                let line = line.last == 0x0D ? line.dropLast() : line
                let isComment = line.first == UInt8(ascii: "#") || line.first == UInt8(ascii: ";")
                return isComment ? nil : Array(line)
            }, list)
    }

    private static func names(of list: String) throws -> Set<AssetName> {
        try paths(bytes(of: list).split(separator: 0).map(Array.init), list)
    }

    private static func paths(_ names: [[UInt8]], _ list: String) throws -> Set<AssetName> {
        let paths = Set(names.filter { !$0.isEmpty }.map(path))
        // An empty list that took everything, or nothing in silence, would both be a surprise.
        if paths.isEmpty { throw UploaderError("\(list) lists no file.") }
        return paths
    }

    /// Returns the path from the folder on. One that leads out of the folder, or is the folder itself, stays as it is:
    /// no file has it, and it is reported.
    private static func path(_ name: [UInt8]) -> AssetName {
        var parts: [[UInt8]] = []
        for part in FilePath(bytes: name).components where part != [0x2E] {
            guard part == [0x2E, 0x2E] else {
                parts.append(part)
                continue
            }
            if parts.popLast() == nil { return AssetName(bytes: name) }
        }
        return AssetName(bytes: parts.isEmpty ? name : Array(parts.joined(separator: [0x2F])))
    }

    private static func bytes(of list: String) throws -> Data {
        do {
            // Also a pipe, as a shell makes it of <(…).
            let file = try list == "-" ? .standardInput : FileHandle(forReadingFrom: URL(fileURLWithPath: list))
            let bytes = try file.readToEnd() ?? Data()
            // Some editors put a byte order mark before UTF-8.
            return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(bytes.dropFirst(3)) : bytes
        } catch {
            throw UploaderError("The list \(list) cannot be read: \(Words.of(error))")
        }
    }
}

extension PathFilter {
    /// Returns the listed paths that are in none of some folders.
    func missing(in folders: [FilePath]) -> [AssetName] {
        guard let listed else { return [] }
        let current = FileManager.default.currentDirectoryPath
        let roots = folders.map { $0.absolute(from: current) }
        return listed.filter { path in !roots.contains { Self.isThere(path, in: $0) } }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// - Parameter missing: the listed paths that are not in the folders.
    /// - Throws: ``UploaderError`` when not one of the listed paths is taken.
    func requireAny(without missing: [AssetName]) throws {
        guard let listed, !listed.subtracting(missing).contains(where: takes) else { return }
        throw UploaderError("The list names no file that is in the folders and that the patterns take.")
    }

    private static func isThere(_ path: AssetName, in root: FilePath) -> Bool {
        // It leads out of the folder, where no file is taken.
        guard !FilePath(path).components.contains([0x2E, 0x2E]) else { return false }
        return root.appending(path.bytes).withCString { name in
            var status = stat()
            return lstat(name, &status) == 0 && [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT)
        }
    }
}
