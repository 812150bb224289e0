/// A path from a folder to a file, in exact bytes: `../` for each step up, and then names.
package struct RelativePath: Hashable, Sendable {
    package let bytes: [UInt8]

    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Creates the path to a file from a folder. Both are absolute.
    ///
    /// - Returns: nil if the two have only the root folder in common, or if one of the paths leads up.
    package init?(to file: [UInt8], from folder: [UInt8]) {
        let (names, base) = (Self.names(file), Self.names(folder))
        guard file.first == Self.slash, folder.first == Self.slash, !names.contains(Self.up), !base.contains(Self.up)
        else { return nil }
        let shared = zip(names, base).prefix { $0 == $1 }.count
        guard shared > 0, shared < names.count else { return nil }
        let steps = Array(repeating: Self.up, count: base.count - shared) + names.dropFirst(shared)
        bytes = Array(steps.joined(separator: [Self.slash]))
    }

    /// Returns the absolute path of the file, seen from a folder.
    ///
    /// - Returns: nil if it leads above the root folder, or if the folder is not absolute.
    package func absolute(from folder: [UInt8]) -> [UInt8]? {
        guard folder.first == Self.slash, bytes.first != Self.slash else { return nil }
        var names = Self.names(folder)
        for name in Self.names(bytes) {
            if name != Self.up {
                names.append(name)
            } else if names.popLast() == nil {
                return nil
            }
        }
        return [Self.slash] + names.joined(separator: [Self.slash])
    }

    private static let slash = UInt8(ascii: "/")
    private static let up = ArraySlice("..".utf8)
    private static let current = ArraySlice(".".utf8)

    private static func names(_ path: [UInt8]) -> [ArraySlice<UInt8>] {
        path.split(separator: slash).filter { $0 != current }
    }
}
