package import LFSStorage
import LFSSystem

/// An XML element of a reply: its name, the text directly inside it, and its child elements. Attributes are left out.
package struct ReplyElement: Hashable, Sendable {
    package let name: String
    package var text = ""
    package var children: [ReplyElement] = []

    /// Returns the children with that name, in order.
    package func all(_ name: String) -> [ReplyElement] { children.filter { $0.name == name } }

    /// Returns the text of the first child with that name. nil if the child is missing or empty.
    package func optional(_ name: String) -> String? {
        children.first { $0.name == name }.flatMap { $0.text.isEmpty ? nil : $0.text }
    }

    /// Returns the text of the first child with that name.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the child is missing or empty.
    package func required(_ name: String) throws(StorageError) -> String {
        guard let text = optional(name) else {
            throw StorageError(.serverError, message: "The server's <\(self.name)> has no <\(name)>.")
        }
        return text
    }

    /// Returns the whole number in the first child with that name.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the child is missing, or its text is not a number in the range.
    package func required<Number: FixedWidthInteger>(
        _ name: String, in range: ClosedRange<Number>
    ) throws(StorageError) -> Number {
        let text = try required(name)
        // The initializer accepts a sign, but numbers in replies have no sign.
        guard text.utf8.allSatisfy(\.isDigit),
            let number = Number(text), range.contains(number)
        else { throw unreadable(name, text: text) }
        return number
    }

    /// Returns the value of a child whose text is `true` or `false`.
    ///
    /// - Throws: ``StorageError/Code/serverError`` when the child is missing, or has any other text.
    package func requiredFlag(_ name: String) throws(StorageError) -> Bool {
        switch try required(name) {
        case "true": true
        case "false": false
        case let text: throw unreadable(name, text: text)
        }
    }

    /// Returns the error for a child with invalid text.
    package func unreadable(_ name: String, text: String) -> StorageError {
        StorageError(
            .serverError,
            message:
                "The server's <\(self.name)> has an invalid <\(name)>: '\(SanitizedErrorText.excerpt(text))'."
        )
    }
}
