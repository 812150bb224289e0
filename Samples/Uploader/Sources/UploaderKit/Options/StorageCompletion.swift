import ArgumentParser
import Foundation

extension CompletionKind {
    /// Completes a storage: the prefixes of all kinds, and the folders of `dir:`.
    static var storage: CompletionKind { .custom { words, index, prefix in StorageCompletion.candidates(prefix) } }
}

/// The shell completions for a storage.
package enum StorageCompletion {
    private static let beginnings = ["dir:", "s3://", "gs://", "azure://", "webdav+https://", "signed+https://"]

    /// - Parameter word: the part of the word that was typed.
    static func candidates(_ word: String) -> [String] {
        let folders =
            word.hasPrefix("dir:") ? Self.folders(String(word.dropFirst("dir:".count))).map { "dir:" + $0 } : []
        let isZsh = CompletionShell.requesting == .zsh
        // In zsh, a description would follow an unescaped colon.
        return (beginnings + folders).map { isZsh ? $0.replacing(":", with: "\\:") : $0 }
    }

    /// Returns the folders that start with a path.
    private static func folders(_ path: String) -> [String] {
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        // An unreadable folder has no completions.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent.isEmpty ? "." : parent)) ?? []
        return names.sorted().map { parent + $0 }.filter { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
        }.map { $0 + "/" }
    }

    /// Returns the script for a shell, if the command line requests it.
    static func script(_ arguments: [String]) -> String? {
        guard
            arguments == ["--generate-completion-script", "bash"] || arguments == ["--generate-completion-script=bash"]
        else { return nil }
        return Uploader.completionScript(for: .bash) + "\n" + bash
    }

    /// In bash, the colon of `dir:PATH` ends a word, so the parser's script does not see the part before it.
    private static let bash = #"""
        _uploader_with_folders() {
            local -i colon="${COMP_CWORD}-1"
            local path="${COMP_WORDS[COMP_CWORD]}"
            [[ "${path}" = ':' ]] && colon+=1 && path=''
            if [[ "${colon}" -ge 3 && "${COMP_WORDS[colon]}" = ':' && "${COMP_WORDS[colon-1]}" = 'dir'\
                && "${COMP_WORDS[colon-2]}" =~ ^(--to|--from|=)$ ]]; then
                local folder
                COMPREPLY=()
                while IFS='' read -r folder; do COMPREPLY+=("${folder}"); done < <(compgen -d -- "${path}")
                return
            fi
            # What begins a storage is no whole word.
            [[ "${3}" =~ ^(--to|--from)$ ]] && compopt -o nospace 2>/dev/null
            _uploader "${@}"
        }

        complete -o filenames -F _uploader_with_folders uploader
        """#
}
