/// A simple model of the rows and rights of accounts, against which the server is checked.
struct SharingModel {
    struct Pair: Hashable {
        let first: String
        let second: String

        init(_ first: String, second: String) { (self.first, self.second) = (first, second) }
    }

    /// The owner of each file and of each album.
    var files: [String: String] = [:]
    var albums: [String: String] = [:]
    /// The members by album and account. The value is true for an editor.
    var members: [Pair: Bool] = [:]
    /// The links by album and file.
    var links: Set<Pair> = []
    /// The partners, each as the account that is read and the account that reads.
    var partners: Set<Pair> = []
    /// The names by which the rows of accounts are named.
    let names: [String: String]

    // MARK: Visibility

    /// Returns the owner and the members of a shared album.
    func readers(_ album: String) -> Set<String> {
        guard let owner = albums[album] else { return [] }
        let others = members.keys.filter { $0.first == album }.map(\.second)
        return others.allSatisfy { $0 == owner } ? [] : Set(others + [owner])
    }

    /// Returns true if the link's file is visible in the album.
    func counts(_ link: Pair) -> Bool { files[link.second].map { readers(link.first).contains($0) } ?? false }

    private func rows(of account: String) -> Set<String> {
        var rows = Set(files.filter { $0.value == account }.map { "File \($0.key)" })
        rows.formUnion(albums.filter { $0.value == account }.map { "Album \($0.key)" })
        for member in members.keys where albums[member.first] == account { rows.insert(name(member)) }
        for link in links where albums[link.first] == account { rows.insert("AlbumFile \(link.first)-\(link.second)") }
        for pair in partners where pair.first == account { rows.insert(partner(pair)) }
        return rows
    }

    private func name(_ member: Pair) -> String { "AlbumUser \(member.first)-\(names[member.second] ?? "")" }

    private func partner(_ pair: Pair) -> String { "Partner \(names[pair.first] ?? "")-\(names[pair.second] ?? "")" }

    /// Returns the rows of each scope that are visible to an account.
    func visible(to account: String) -> [String: Set<String>] {
        let own = rows(of: account)
        var scopes = ["": own]
        for pair in partners where pair.second == account && pair.first != account {
            scopes["account/\(pair.first)"] = rows(of: pair.first)
        }
        for (album, owner) in albums where readers(album).contains(account) {
            var rows: Set<String> = []
            if owner != account {
                rows.insert("Album \(album)")
                for member in members.keys where member.first == album { rows.insert(name(member)) }
            }
            for link in links where link.first == album && counts(link) {
                if owner != account { rows.insert("AlbumFile \(album)-\(link.second)") }
                if files[link.second] != account { rows.insert("File \(link.second)") }
            }
            scopes["album/\(album)"] = rows
        }
        return scopes.filter { !$0.value.isEmpty }
    }

    func sees(_ account: String, row: String) -> Bool {
        visible(to: account).values.contains { $0.contains(row) }
    }

    // MARK: Rights

    /// Returns true if an account may add and remove links.
    func edits(_ account: String, album: String) -> Bool {
        albums[album] == account || (members[Pair(album, second: account)] == true && readers(album).contains(account))
    }

    mutating func deleteFile(_ file: String) {
        files[file] = nil
        links = links.filter { $0.second != file }
    }

    mutating func deleteAlbum(_ album: String) {
        albums[album] = nil
        links = links.filter { $0.first != album }
        members = members.filter { $0.key.first != album }
    }
}
