/// The part of a file that a service of the system uploads, named `<file id>.<part>.<nonce>`.
package struct LentPart: Hashable, Sendable {
    package let fileID: FileID
    /// The number of the part, from 1. 0 for a file whose parts are not known yet.
    package let number: Int
    /// Distinguishes the part from those of earlier tasks.
    package let nonce: FileID

    package init(fileID: FileID, number: Int, nonce: FileID = .make()) {
        self.fileID = fileID
        self.number = number
        self.nonce = nonce
    }

    /// Returns nil for any text but the name of a part.
    package init?(name: String) {
        let pieces = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard pieces.count == 3, let fileID = FileID(text: pieces[0]), let number = Int(pieces[1]), number > 0,
            let nonce = FileID(text: pieces[2])
        else { return nil }
        self.init(fileID: fileID, number: number, nonce: nonce)
        // A number can be written in several ways.
        guard self.name == name else { return nil }
    }

    package var name: String { "\(fileID.text).\(number).\(nonce.text)" }
}
