//! Reports about databases.

formats! {}
