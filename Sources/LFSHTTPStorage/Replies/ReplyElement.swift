package import LFSStorage
import LFSSystem

/// One element of a reply: its name, the text directly inside it, and the elements inside it. Attributes are left out.
package struct ReplyElement: Hashable, Sendable {
    package let name: String
    package var text = ""
    package var children: [ReplyElement] = []

    /// The elements of that name directly inside this one, in order.
    package func all(_ name: String) -> [ReplyElement] { children.filter { $0.name == name } }

    /// The text of the first element of that name, nil when there is none or when it is empty.
    package func optional(_ name: String) -> String? {
        children.first { $0.name == name }.flatMap { $0.text.isEmpty ? nil : $0.text }
    }

    /// - Throws: ``StorageError/Code/serverError`` when the field is missing or empty.
    package func required(_ name: String) throws(StorageError) -> String {
        guard let text = optional(name) else {
            throw StorageError(.serverError, "The server's <\(self.name)> has no <\(name)>.")
        }
        return text
    }

    /// A whole number.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the field is missing, or its text is no number of that range.
    package func required<Number: FixedWidthInteger>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(StorageError) -> Number {
        let text = try required(name)
        // The initializer takes a sign too, which no number in a reply has.
        guard text.utf8.allSatisfy(\.isDigit),
            let number = Number(text), range.contains(number)
        else { throw unreadable(name, text) }
        return number
    }

    /// `true` or `false`.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the field is missing, or its text is something else.
    package func requiredFlag(_ name: String) throws(StorageError) -> Bool {
        switch try required(name) {
        case "true": true
        case "false": false
        case let text: throw unreadable(name, text)
        }
    }

    /// The error for a field whose text is not what it should be.
    package func unreadable(_ name: String, _ text: String) -> StorageError {
        StorageError(
            .serverError,
            "The server's <\(self.name)> has a <\(name)> that makes no sense: '\(ServerText.excerpt(text))'.")
    }
}
