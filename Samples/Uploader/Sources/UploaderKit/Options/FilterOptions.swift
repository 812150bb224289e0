import ArgumentParser
import Foundation
import LFSBackup

/// The options that select files in folders.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Take only files that match, such as '*.{jpg,heic}'. Can be repeated.", valueName: "pattern"),
        transform: Self.pattern)
    var include: [PathPattern] = []

    @Option(
        name: .long, parsing: .singleValue,
        help: ArgumentHelp(
            "Leave out files that match, such as 'cache/' or '*.tmp'. Can be repeated.", valueName: "pattern"),
        transform: Self.pattern)
    var exclude: [PathPattern] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Take only the paths in this file, one per line, relative to the pushed folder. - is standard input. Lines \
            that start with # or ; are ignored.
            """, valueName: "list", visibility: .detail), completion: .file())
    var filesFrom: String?

    @Option(
        name: .customLong("files-from0"),
        help: ArgumentHelp(
            "Like --files-from, with a zero byte after each path, as 'find -print0' prints them.", valueName: "list",
            visibility: .detail),
        completion: .file())
    var filesFromZero: String?

    private static func pattern(_ text: String) throws -> PathPattern {
        do { return try PathPattern(text) } catch { throw ValidationError(error.message) }
    }

    /// Reads the list before anything is created. An error in it ends the command.
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

    /// - Throws: ``UploaderError`` if the list is unreadable or empty.
    private func filter() throws -> PathFilter {
        var listed: Set<AssetName>?
        if let filesFrom { listed = try Self.lines(of: filesFrom) }
        if let filesFromZero { listed = try Self.names(of: filesFromZero) }
        return PathFilter(including: include, excluding: exclude, listed: listed)
    }

    /// Reads a list with one path per line. Source: rclone, "Filtering, includes and excludes", `--files-from`.
    private static func lines(of list: String) throws -> Set<AssetName> {
        let bytes = try bytes(of: list)
        guard !bytes.contains(0) else {
            throw UploaderError("\(list) has zero bytes, as from 'find -print0'. Give it with --files-from0.")
        }
        return try paths(
            bytes.split(separator: 0x0A).compactMap { line in
                let line = line.last == 0x0D ? line.dropLast() : line
                let isComment = line.first == UInt8(ascii: "#") || line.first == UInt8(ascii: ";")
                return isComment ? nil : Array(line)
            }, list: list)
    }

    private static func names(of list: String) throws -> Set<AssetName> {
        try paths(bytes(of: list).split(separator: 0).map(Array.init), list: list)
    }

    private static func paths(_ names: [[UInt8]], list: String) throws -> Set<AssetName> {
        let paths = Set(names.filter { !$0.isEmpty }.map(path))
        // An empty list must neither select everything nor silently select nothing.
        if paths.isEmpty { throw UploaderError("\(list) lists no file.") }
        return paths
    }

    /// Returns the path relative to the folder. A path that leads out of the folder, or is the folder itself, stays
    /// unchanged. It matches no file, and is reported.
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
            // The list may also be a pipe, such as the one that a shell creates for <(…).
            let file = try list == "-" ? .standardInput : FileHandle(forReadingFrom: URL(fileURLWithPath: list))
            let bytes = try file.readToEnd() ?? Data()
            // Some editors write a byte order mark before UTF-8.
            return bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Data(bytes.dropFirst(3)) : bytes
        } catch {
            throw UploaderError("The list \(list) cannot be read: \(ErrorMessages.of(error))")
        }
    }
}

extension PathFilter {
    /// Returns the listed paths that exist in none of the folders.
    func missing(in folders: [FilePath]) -> [AssetName] {
        guard let listed else { return [] }
        let current = FileManager.default.currentDirectoryPath
        let roots = folders.map { $0.absolute(from: current) }
        return listed.filter { path in !roots.contains { Self.isThere(path, in: $0) } }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// - Parameter missing: the listed paths that are not in the folders.
    /// - Throws: ``UploaderError`` if the filter includes none of the listed paths.
    func requireAny(without missing: [AssetName]) throws {
        guard let listed, !listed.subtracting(missing).contains(where: takes) else { return }
        throw UploaderError("The list names no file that is in the folders and matches the patterns.")
    }

    private static func isThere(_ path: AssetName, in root: FilePath) -> Bool {
        // The path leads out of the folder, where no files are selected.
        guard !FilePath(path).components.contains([0x2E, 0x2E]) else { return false }
        return root.appending(path.bytes).withCString { name in
            var status = stat()
            return lstat(name, &status) == 0 && [S_IFREG, S_IFLNK].contains(status.st_mode & S_IFMT)
        }
    }
}
